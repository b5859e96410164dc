package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/llm/script"
)

func mustAnswer(t *testing.T, text string) script.Answer {
	t.Helper()
	a, err := script.ParseAnswer(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustPattern(t *testing.T, text string) pattern {
	t.Helper()
	p, err := parsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Every row of the grammar, with its variants.
func TestScenarioLines(t *testing.T) {
	m1, m2 := llm.Ref{Provider: "a", Model: "m1"}, llm.Ref{Provider: "b", Model: "m2"}
	answer := func(s string) script.Answer { return mustAnswer(t, s) }
	is := func(s string) pattern { return mustPattern(t, s) }
	post := func(kind, place, text string) expectPost {
		p := is(text)
		return expectPost{kind: kind, place: place, pattern: &p}
	}
	tests := []struct {
		text string
		want any
	}{
		{`model a/m1: text "hello"`, doModel{m1, "", answer(`text "hello"`)}},
		{`model a/m1: stream "par" pause 3s "tial" then 529 "overloaded_error"`, doModel{m1, "", answer(`stream "par" pause 3s "tial" then 529 "overloaded_error"`)}},
		{`model a/m1: 429 retry-after=120 {"error":{"message":"a: # b"}} # slow`, doModel{m1, "", answer(`429 retry-after=120 {"error":{"message":"a: # b"}}`)}},
		{`model a/m1 @a:p2: 401 "invalid x-api-key"`, doModel{m1, "a:p2", answer(`401 "invalid x-api-key"`)}},
		{`model A/x/y:free @a:ann@example.com: hang`, doModel{llm.Ref{Provider: "a", Model: "x/y:free"}, "a:ann@example.com", answer(`hang`)}},
		{`model a/m1: tool echo {"x":1}`, doModel{m1, "", answer(`tool echo {"x":1}`)}},
		{`model a/m1: finish abort`, doModel{m1, "", answer(`finish abort`)}},
		{`model a/m1: slow 45s text "hi"`, doModel{m1, "", answer(`slow 45s text "hi"`)}},

		{`tool echo: text "ok"`, doTool{name: "echo", text: "ok"}},
		{`tool echo: error "no"`, doTool{name: "echo", isError: true, text: "no"}},
		{`tool echo: hang`, doTool{name: "echo", hang: true}},
		{`tool echo: slow 5s text "ok" # late`, doTool{name: "echo", slow: 5 * time.Second, text: "ok"}},

		{`auth a:p1 refresh: 400 invalid_grant`, doAuth{profile: "a:p1", outcome: "status", status: 400, body: "invalid_grant"}},
		{`auth a:p1 refresh: 400 {"error": "invalid_grant"}`, doAuth{profile: "a:p1", outcome: "status", status: 400, body: `{"error": "invalid_grant"}`}},
		{`auth a:p1 refresh: 503 "try later"`, doAuth{profile: "a:p1", outcome: "status", status: 503, body: "try later"}},
		{`auth a:p1 refresh: 500`, doAuth{profile: "a:p1", outcome: "status", status: 500}},
		{`auth a:p1 refresh: slow 12s ok`, doAuth{profile: "a:p1", slow: 12 * time.Second, outcome: "ok"}},
		{`auth a:p1 refresh: hang`, doAuth{profile: "a:p1", outcome: "hang"}},
		{`auth a:p1 refresh: reset`, doAuth{profile: "a:p1", outcome: "reset"}},
		{`login a:p1`, doLogin{"a:p1"}},

		{`env NAME=some value = 1`, doEnv{"NAME", "some value = 1"}},
		{`env NAME=`, doEnv{"NAME", ""}},
		{`unconfigured zzz`, doUnconfigured{"zzz"}},
		{`no credential c`, doNoCredential{"c"}},
		{`thread t1 in channel:c1`, doThread{"t1", "channel:c1"}},

		{`user ann in t1: hi`, doUser{name: "ann", place: "t1", text: "hi"}},
		{`user ann in dm:ann: what: "this" # and that?`, doUser{name: "ann", place: "dm:ann", text: `what: "this" # and that?`}},
		{`user ann in channel:c1 replying m3: hi`, doUser{name: "ann", place: "channel:c1", replying: "m3", text: "hi"}},
		{`user ann in t1 with image a.png: hi`, doUser{name: "ann", place: "t1", images: []string{"a.png"}, text: "hi"}},
		{`user ann in t1 replying m3 with image a.png with image "b: c.png":`, doUser{name: "ann", place: "t1", replying: "m3", images: []string{"a.png", "b: c.png"}}},
		{`admin root in t1: /status why`, doUser{name: "root", place: "t1", admin: true, text: "/status why"}},
		{`edit m3: other words`, doEdit{"m3", "other words"}},
		{`delete m3`, doDelete{"m3"}},
		{`redeliver last`, doRedeliver{"last"}},
		{`press approve in t1`, doPress{"approve", "t1"}},

		{`patch t1 model=b/m2`, doPatch{"t1", []assignment{{"model", "b/m2"}}}},
		{`patch t1 model=b/m2 note="a b" profile= # both`, doPatch{"t1", []assignment{{"model", "b/m2"}, {"note", "a b"}, {"profile", ""}}}},
		{`reset t1`, doReset{"t1"}},
		{`run understudy auth clear a:p1`, doRun{[]string{"auth", "clear", "a:p1"}}},
		{`run understudy cron add "each day"`, doRun{[]string{"cron", "add", "each day"}}},

		{`start 2026-03-29T00:30:00Z`, doStart{time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)}},
		{`wait 29.999s`, doWait{29999 * time.Millisecond}},
		{`wait 1d12h`, doWait{36 * time.Hour}},
		{`wait 32d`, doWait{32 * 24 * time.Hour}},
		{`kill`, doKill{}},
		{`prune`, doPrune{}},
		{`stop`, doStop{}},
		{`platform fails next post`, doPlatform{}},
		{`platform fails post 2`, doPlatform{n: 2}},
		{`platform unknown next post`, doPlatform{unknown: true}},
		{`second process`, doSecond{}},
		{`store fails next write`, doStore{}},
		{`store slow 8s next write`, doStore{slow: 8 * time.Second}},

		{`expect request a/m1`, expectRequest{ref: m1}},
		{`expect request a/m1 with a:p1`, expectRequest{ref: m1, profile: "a:p1"}},
		{`expect request a/m1 contains "x: y" # yes`, expectRequest{ref: m1, texts: textChecks{contains: []string{"x: y"}}}},
		{`expect request a/m1 with a:p1 lacks "x" contains "y" lacks "z"`, expectRequest{m1, "a:p1", textChecks{[]string{"y"}, []string{"x", "z"}}}},
		{`expect no request`, expectNoRequest{}},
		{`expect answer in t1: hello: you # there`, post("answer", "t1", "hello: you # there")},
		{`expect notice in dm:ann: ↪️ Model Fallback: b/m2 (selected a/m1; rate limit)`, post("notice", "dm:ann", "↪️ Model Fallback: b/m2 (selected a/m1; rate limit)")},
		{`expect status in t1: The AI service…`, post("status", "t1", "The AI service…")},
		{`expect error in t1: /try .* again/`, post("error", "t1", "/try .* again/")},
		{`expect command in channel:c1: "a\nb"`, post("command", "channel:c1", `"a\nb"`)},
		{`expect admin: a:p1 was disabled…`, post("admin", "", "a:p1 was disabled…")},
		{`expect answer in t1 contains "a: b" lacks "c"`, expectPost{kind: "answer", place: "t1", texts: textChecks{[]string{"a: b"}, []string{"c"}}}},
		{`expect admin lacks "key"`, expectPost{kind: "admin", texts: textChecks{lacks: []string{"key"}}}},
		{`expect nothing`, expectNothing{}},
		{`expect linked`, expectLinked{true}},
		{`expect not linked`, expectLinked{false}},
		{`expect typing in t1`, expectTyping{true, "t1"}},
		{`expect no typing`, expectTyping{}},
		{`expect no typing in t1`, expectTyping{place: "t1"}},
		{`expect selected t1 a/m1 user`, expectSelected{"t1", m1, failover.FromUser}},
		{`expect active t1 b/m2`, expectActive{"t1", m2}},
		{`expect profile a:p1 cooldown m1 30s rate_limit`, expectProfile{"a:p1", "cooldown", "m1", 30 * time.Second, llm.RateLimit}},
		{`expect profile a:p1 cooldown * 30s auth`, expectProfile{"a:p1", "cooldown", "*", 30 * time.Second, llm.Auth}},
		{`expect profile a:p1 disabled 5h billing`, expectProfile{"a:p1", "disabled", "", 5 * time.Hour, llm.Billing}},
		{`expect profile a:p1 ok`, expectProfile{profile: "a:p1", state: "ok"}},
		{`expect refresh a:p1`, expectRefresh{"a:p1"}},
		{`expect job j1 ok b/m2`, expectJob{job: "j1", ok: true, ref: m2}},
		{`expect job j1 failed rate_limit`, expectJob{job: "j1", reason: llm.RateLimit}},
		{`expect log started`, expectLog{event: "started"}},
		{`expect log model_fallback_decision fallbackStepFromModel=a/m1 detail="no more…"`, expectLog{"model_fallback_decision", []logField{{"fallbackStepFromModel", is("a/m1")}, {"detail", is("no more…")}}}},
		{`expect transcript t1: user "hi", assistant "hello"`, expectTranscript{"t1", []transcriptEntry{{"user", is("hi")}, {"assistant", is("hello")}}}},
		{`expect transcript t1:`, expectTranscript{thread: "t1"}},
		{`expect total requests 11`, expectTotal{11}},
	}
	for _, tt := range tests {
		lines, errs := readScript(tt.text, 1)
		if len(errs) > 0 || len(lines) != 1 {
			t.Errorf("%s: %d lines, %v", tt.text, len(lines), errs)
			continue
		}
		if !reflect.DeepEqual(lines[0].cmd, tt.want) {
			t.Errorf("%s:\n got %#v\nwant %#v", tt.text, lines[0].cmd, tt.want)
		}
	}
}

func TestScenarioLineErrors(t *testing.T) {
	for text, want := range map[string]string{
		`modle a/m1: hang`:                     `nothing begins with "modle"`,
		`model a: hang`:                        "a model ref such as a/m1",
		`model a/m1 hang`:                      "@profile and a colon",
		`model a/m1 @p2: hang`:                 "a profile such as a:p1",
		`model a/m1: text hello`:               "column 6",
		`tool echo text "ok"`:                  "a colon behind the name",
		`tool echo: say "ok"`:                  "text, error, hang or slow",
		`tool echo: text "ok" "ok"`:            "nothing more",
		`auth a:p1: ok`:                        `"refresh:"`,
		`auth a:p1 refresh: fine`:              "ok, hang, reset",
		`login p1`:                             "a profile such as a:p1",
		`env NAME`:                             "NAME=value",
		`no creds c`:                           `"credential"`,
		`thread t1 in c1`:                      "channel:NAME",
		`user ann in t1 hi`:                    "a colon and a text",
		`user ann at t1: hi`:                   `"in"`,
		`user ann in room:t1: hi`:              "a place such as t1",
		`user ann in t1 answering m3: hi`:      `"replying m1"`,
		`edit m3`:                              "a colon and a text",
		`redeliver`:                            `"last" or a message`,
		`press approve`:                        `"in"`,
		`patch t1`:                             "name=value",
		`patch t1 model`:                       "name=value",
		`run auth clear`:                       `"understudy"`,
		`run understudy`:                       "a command",
		`start tomorrow`:                       "a time such as",
		`wait`:                                 "a duration",
		`wait 5`:                               "a duration",
		`wait -5s`:                             "a duration",
		`platform fails`:                       `"post"`,
		`platform fails post 0`:                "a number from 1",
		`platform breaks next post`:            `"fails"`,
		`second`:                               `"process"`,
		`store fails next read`:                `"write"`,
		`end`:                                  `"together:" before "end"`,
		`expect`:                               "something to expect",
		`expect wonders`:                       `there is no "wonders"`,
		`expect request a/m1 with p1`:          "a profile such as a:p1",
		`expect request a/m1 contains x`:       "a quoted text",
		`expect no answer`:                     `"request" or "typing"`,
		`expect answer: hello`:                 `"in"`,
		`expect answer in t1`:                  "contains or lacks",
		`expect answer in t1: /(/`:             "missing closing )",
		`expect selected t1 a/m1 me`:           "a source such as user",
		`expect profile a:p1 cooldown m1 rate`: "a duration",
		`expect profile a:p1 cooldown m1 30s rate`: "a reason such as rate_limit",
		`expect profile a:p1 broken`:               "cooldown, disabled or ok",
		`expect job j1 done`:                       `"ok a/m1"`,
		`expect transcript t1: user hi`:            "a quoted text",
		`expect transcript t1: user "a" user "b"`:  "nothing more",
		`expect total requests many`:               "a number from 0",
		`kill now`:                                 "nothing more",
	} {
		_, errs := readScript(text, 7)
		if len(errs) != 1 {
			t.Errorf("%s: %v", text, errs)
			continue
		}
		if got := errs[0].Error(); !strings.HasPrefix(got, "7: ") || !strings.Contains(got, want) || !strings.HasSuffix(got, "in: "+text) {
			t.Errorf("%s: the error is %q, want %q in it", text, got, want)
		}
	}
}

func TestReadScenario(t *testing.T) {
	s, err := readScenario("demo.txtar", []byte(`What it shows.
-- config.jsonc --
{}
-- config2.jsonc --
// other
{}
-- script --
# The story.
start 2026-03-29T00:30:00Z
env X=1

user ann in t1: hi
together:
  user bob in t1: a
  # both
  expect answer in t1: b
end
config config2.jsonc
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.files["config2.jsonc"]); got != "// other\n{}\n" || len(s.files) != 2 {
		t.Errorf("files %q", s.files)
	}
	var got []string
	for _, l := range s.lines {
		got = append(got, fmt.Sprintf("%d %T", l.no, l.cmd))
	}
	want := "9 main.doStart, 10 main.doEnv, 12 main.doUser, 13 main.doTogether, 18 main.doConfig"
	if strings.Join(got, ", ") != want {
		t.Errorf("lines %v\nwant %s", got, want)
	}
	if want := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC); !s.start.Equal(want) {
		t.Errorf("it starts at %v, want %v", s.start, want)
	}
	if group := s.lines[3].cmd.(doTogether).lines; len(group) != 2 || group[1].no != 16 || group[1].text != "expect answer in t1: b" {
		t.Errorf("the group holds %+v", group)
	}
}

func TestReadScenarioErrors(t *testing.T) {
	for script, want := range map[string]string{
		"kill\nstart 2026-03-29T00:30:00Z":         `x:3: "start" must be the first line`,
		"kill\nenv A=1":                            `x:3: "env A=1" belongs to the first lines`,
		"config none.jsonc":                        `x:2: there is no file "none.jsonc"`,
		"together:\nkill":                          `x:2: "together:" has no "end"`,
		"together:\ntogether:\nend":                `x:3: want no group within a group`,
		"frob\nkill\nfrab":                         `x:2: want a line of the grammar; nothing begins with "frob"` + `, at the end, in: frob` + "\nx:4: want",
		"kill\n-- config.jsonc --\n-- script --\n": `x:4: there are two files "script"`,
	} {
		_, err := readScenario("x", []byte("-- script --\n"+script))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", script, err, want)
		}
	}
	if _, err := readScenario("x", []byte("-- config.jsonc --\n{}\n")); err == nil || !strings.Contains(err.Error(), "-- script --") {
		t.Errorf("without a script: %v", err)
	}
	if s, err := readScenario("x", []byte("-- script --\r\nkill\r\n")); err != nil || len(s.lines) != 1 || !s.start.Equal(defaultStart) {
		t.Errorf("lines that end as on Windows: %v", err)
	}
}

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"hello", "hello", true},
		{"hello", "hello\n", true},
		{"hello", "hello you", false},
		{"hello…", "hello you", true},
		{"hello…", "hello", true},
		{"hello…", "hell", false},
		{"…", "", true},
		{"", "", true},
		{"", "x", false},
		{"/h.llo/", "oh hallo you", true},
		{"/^h.llo$/", "oh hallo you", false},
		{"/", "/", true},
		{"//", "//", true},
		{`"a\nb"`, "a\nb", true},
		{`"a\nb"`, `"a\nb"`, true},
		{`"a\nb…"`, "a\nbc", true},
		{`"a" and "b"`, `"a" and "b"`, true},
	} {
		if got := mustPattern(t, tt.pattern).match(tt.text); got != tt.want {
			t.Errorf("%s matches %q: %v", tt.pattern, tt.text, got)
		}
	}
}

func TestTexts(t *testing.T) {
	both := textChecks{contains: []string{"a"}, lacks: []string{"b"}}
	for text, want := range map[string]string{"a": "", "c": `does not contain "a"`, "ab": `contains "b"`} {
		if got := both.check(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzScenario: a reader takes any bytes, and names the line of every error.
func FuzzScenario(f *testing.F) {
	f.Add([]byte("-- config.jsonc --\n{}\n-- script --\nmodel a/m1 @a:p2: 401 \"x\"\nuser ann in t1: hi\nexpect answer in t1: ok\n"))
	f.Add([]byte("-- script --\ntogether:\nuser ann in t1: hi\nend\nexpect log x a=\"b\"\nwait 1d\n"))
	f.Add([]byte("-- script --\nexpect transcript t1: user \"hi\", assistant \"hello…\"\npatch t1 a=\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readScenario("x", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x:") {
				t.Errorf("the error has no place: %v", err)
			}
			return
		}
		last := 0
		for _, l := range s.lines {
			if l.cmd == nil || l.no <= last {
				t.Errorf("line %d after %d: %#v", l.no, last, l.cmd)
			}
			last = l.no
		}
	})
}
