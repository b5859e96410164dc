package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
	"understudy/core/llm/llmtest"
	"understudy/core/seal"
	"understudy/store"
)

// The planted secrets. Some look like what they are, some do not.
const (
	plantedDiscord = "Marble.Lighthouse.Quarrel.Sevenfold"
	plantedBot     = "xoxb-904471123456-Walrus4Tangerine8Fiddle"
	plantedApp     = "xapp-1-A0APP-904471-Thimble7Glacier2Parasol"
	plantedSigning = "Lantern-Orchard-Whistle-Understorey"
	plantedSeal    = "Porcelain_Hedgehog_Umbrella_Cathedral_9"
	plantedOldSeal = "Velvet_Ostrich_Harmonica_Staircase_Plum"
	plantedGate    = "Crimson Accordion of the Winter Garden"
	plantedSecond  = "Nutmeg.Zeppelin.Corduroy.Meridian"
	plantedWrong   = "Gooseberry.Telegraph.Cinnamon.Harbour"
)

// canary is said by a model, and no secret: the search must find it in all places
// in which something that a model says is kept.
const canary = "Bumblebee-Saxophone-Archipelago-Teapot"

// leaks are the ways in which a provider gives away what it was sent: its key
// and the header that all of them get.
func leaks(key string) []llmtest.Response {
	both := key + " behind " + plantedGate
	return []llmtest.Response{
		llmtest.Failure(401, "authentication_error", "invalid x-api-key: "+both).With("X-Echo", both),
		llmtest.Plain(403, "text/html", "<html><head><title>Forbidden "+key+"</title></head><body>"+both+"</body></html>"),
		llmtest.Failure(429, "rate_limit_error", "limit of the key "+both+" reached").With("Retry-After", "600").With("X-Ratelimit-Reset", key),
		llmtest.Response{Status: 307}.With("Location", "http://127.0.0.1:1/next?api_key="+key+"&gate="+strings.ReplaceAll(plantedGate, " ", "+")),
		llmtest.Stream(llmtest.Fail("api_error", "internal error for "+both)),
		llmtest.Stream(llmtest.Raw("event: error\ndata: "+both+"\n\n"), llmtest.Cut()),
		llmtest.Plain(500, "application/json", `{"error": {"message": "`+both+`", "debug": {"headers": {"authorization": "Bearer `+key+`"}}}}`),
		llmtest.Stream(llmtest.Reset()),
		llmtest.Failure(400, "invalid_request_error", "billing: credit balance of "+both+" is too low"),
	}
}

// plantedKey is the key of one of the leaking providers; every other one looks
// like a key.
func plantedKey(i int) string {
	if i%2 == 0 {
		return fmt.Sprintf("sk-ant-api03-Kettledrum%dAbacus%dMosaic", i, i)
	}
	return fmt.Sprintf("Sycamore.Bassoon.Number%d.Windmill.Turnip", i)
}

// robbery is a bot with planted secrets, and all that it writes.
type robbery struct {
	*machine
	hoard
	secrets map[string]string // by name
	addr    string            // of the health endpoint
}

// newRobbery is a machine whose chain of models leaks in every way, before one
// answers.
func newRobbery(t *testing.T, program string, town town, env ...string) *robbery {
	t.Helper()
	r := &robbery{machine: &machine{stand: newStand(t, town), program: program}, hoard: hoard{}, secrets: map[string]string{
		"the header": plantedGate, "the key of the second": plantedSecond, "the key of the seals": plantedSeal, "the old key of the seals": plantedOldSeal,
	}}
	r.env = append(r.env, "UNDERSTUDY_HTTP=127.0.0.1:0", "SECOND_API_KEY="+plantedSecond, "UNDERSTUDY_SECRET_KEY="+plantedSeal, "UNDERSTUDY_SECRET_KEY_OLD="+plantedOldSeal)
	r.env = append(r.env, env...)
	var chain, providers []string
	for i := range leaks("") {
		name, api, path := fmt.Sprintf("p%d", i), "anthropic", ""
		if i%2 == 1 {
			api, path = "chat", "/v1"
		}
		key := plantedKey(i)
		r.secrets["the key of "+name] = key
		r.env = append(r.env, fmt.Sprintf("P%d_API_KEY=%s", i, key))
		r.lead.Queue("m-"+name, leaks(key)[i])
		chain = append(chain, fmt.Sprintf("%q", name+"/m-"+name))
		providers = append(providers, fmt.Sprintf(`%q: {"baseUrl": %q, "api": %q, "headers": {"X-Gate": %q}}`, name, r.lead.URL+path, api, plantedGate))
	}
	providers = append(providers, fmt.Sprintf(`"second": {"baseUrl": %q, "api": "chat", "headers": {"X-Gate": %q}}`, r.standIn.URL+"/v1", plantedGate))
	r.configure(`"agents": {"defaults": {"model": {"primary": ` + chain[0] + `, "fallbacks": [` + strings.Join(chain[1:], ", ") + `, "second/double"]}}},
		"models": {"providers": {` + strings.Join(providers, ", ") + `}}`)
	return r
}

// says runs a command of the program and keeps what it says.
func (r *robbery) says(args ...string) string {
	r.Helper()
	text := r.ends(r.command(args...))
	r.add("output of "+strings.Join(args, " "), []byte(text))
	return text
}

// ends runs a command that has to end by itself, and gives what it said.
func (r *robbery) ends(c *exec.Cmd) string {
	r.Helper()
	said := &output{}
	c.Stdout, c.Stderr = said, said
	if err := c.Start(); err != nil {
		r.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	_ = c.Wait() // most of them end with an error
	if !late.Stop() {
		r.Errorf("understudy %s does not end; it says\n%s", strings.Join(c.Args[1:], " "), said)
	}
	return said.String()
}

// begin starts the bot.
func (r *robbery) begin() {
	r.Helper()
	r.start()
	deadline := time.Now().Add(patience)
	for r.addr = ""; r.addr == ""; time.Sleep(10 * time.Millisecond) {
		if at := regexp.MustCompile(`running.*http"?[=:]"?([0-9.:]+)`).FindAllStringSubmatch(r.err.String(), -1); at != nil {
			r.addr = at[len(at)-1][1]
		}
		if time.Now().After(deadline) {
			r.Fatal("the log does not name the health address")
		}
	}
}

// pages keeps what the health endpoint shows.
func (r *robbery) pages() {
	r.Helper()
	for _, path := range []string{"/readyz", "/healthz", "/"} {
		resp, err := http.Get("http://" + r.addr + path)
		if err != nil {
			r.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			r.Fatal(err)
		}
		r.add("page "+path, []byte(fmt.Sprint(resp.Header)+string(body)))
	}
}

// codeIn is the pairing code in what a stranger was told.
var codeIn = regexp.MustCompile("/approve ([A-Z]{8})")

// commands runs everything that an operator may, beside the bot or without it.
func (r *robbery) commands(session string) {
	r.Helper()
	copyOf := filepath.Join(r.dir, fmt.Sprintf("copy-%d.db", time.Now().UnixNano()))
	for _, args := range [][]string{
		{"check"}, {"check", "--json"}, {"explain", "--if", "p0=auth,p1=overloaded"}, {"auth", "clear", "p1:env"}, {"auth", "clear", plantedKey(0)},
		{"sessions", "list"}, {"sessions", "list", "-json"}, {"sessions", "export", session}, {"sessions", "export", "-format", "json", session}, {"sessions", "export", plantedSecond},
		{"store", "check"}, {"store", "check", "--json"}, {"store", "backup", copyOf}, {"pairing", "approve", plantedSecond}, {"pairing", "list"}, {"run"},
		{canary}, {plantedSecond}, {"check", "--config", plantedGate}, {"version"}, {"help"},
	} {
		r.says(args...)
	}
}

// turnID is the id of the last turn of a thread.
func (r *robbery) turnID(t town, thread string) string {
	r.Helper()
	st, err := store.Open(r.Context(), store.Options{Path: r.storePath()})
	if err != nil {
		r.Fatal(err)
	}
	defer st.Close()
	session, err := st.Session(r.Context(), t.key(thread))
	if err != nil {
		r.Fatal(err)
	}
	return session.LastTurn
}

// stage takes up the files as they are now: later some things are gone from them.
func (r *robbery) stage(name string) {
	r.Helper()
	now := hoard{}
	now.addFolder(r.T, r.dir)
	for where, content := range now {
		r.add(where+" "+name, content)
	}
}

// search looks for every secret in everything. A pairing code is shown to who
// asked and to an operator who asks for the list.
func (r *robbery) search(code string, shown ...string) {
	r.Helper()
	r.add("what the bot said", []byte(r.err.String()))
	r.addJSON(r.T, "requests to providers", bodies(r.lead, r.standIn))
	if len(r.hoard) < 20 {
		r.Fatalf("there is only %d of what was written", len(r.hoard))
	}
	for name, value := range r.secrets {
		for _, where := range r.find(value) {
			r.Errorf("%s is in: %s", name, where)
		}
	}
	if code == "" {
		r.Error("nobody was told a pairing code")
	} else {
		allowed := 0
	next:
		for _, where := range r.find(code) {
			for _, s := range append(shown, "output of pairing list") {
				if strings.HasPrefix(where, s) {
					allowed++
					continue next
				}
			}
			r.Errorf("the pairing code is in: %s", where)
		}
		if allowed == 0 {
			r.Error("the search does not find the pairing code where it was told")
		}
	}
	// The search is worth something only if it finds what is no secret.
	found := strings.Join(r.find(canary), "\n")
	for _, want := range []string{"posts", "rows of store/understudy.db", "file store/understudy.db", "rows of copy-", "file copy-", "output of sessions export", "output of " + canary, "requests to providers"} {
		if !strings.Contains(found, want) {
			r.Errorf("the search does not find what a model said in: %s; it finds\n%s", want, found)
		}
	}
}

// bodies are what providers were sent, without the headers.
func bodies(servers ...*llmtest.Server) (all []string) {
	for _, s := range servers {
		for _, q := range s.Requests() {
			all = append(all, q.Path+" "+string(q.Body))
		}
	}
	return all
}

// TestPlantedSecrets lets the program tell stories in which everything that it
// knows of secrets is given back to it by whoever got them, and then looks for
// them in all that it wrote: both outputs, the log, the files of the store and
// their rows, backups, exports, posts, what operators are shown, and pages.
func TestPlantedSecrets(t *testing.T) {
	program := filepath.Join(t.TempDir(), "understudy")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: the program cannot be built here: %v\n%s", err, out)
	}
	for name, rob := range map[string]func(*testing.T, string){
		"discord": robDiscord, "slack": robSlack, "slack over HTTP": robSlackHTTP, "key in a file": robKeyFile,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rob(t, program)
		})
	}
}

// walk lets the chain fail in every way until the last model answers, and then a
// chosen model fail for good.
func (r *robbery) walk() *talk {
	r.Helper()
	r.standIn.Queue("double", llmtest.Text("I stand in, said the "+canary+"."))
	k := r.open(r.towns[0], "good evening")
	k.next(canary)
	k.next("Model Fallback")
	for _, text := range []string{"/status", "/status why", "/usage", "/model", "/model p1/m-p1"} {
		k.say(k.town.command(text))
		k.settle()
	}
	k.say(k.town.command("only you"))
	k.settle()
	r.says("explain", r.turnID(k.town, k.thread))
	r.says("chat", "-m", "hello", "--json")
	r.says("chat", "-m", "hello", "--model", "p1/m-p1")
	k.say(k.town.command("/model default"))
	k.settle()
	k.say(k.town.command("/retry"))
	k.settle()
	return k
}

// settle waits for one more post, whatever it says.
func (k *talk) settle() {
	k.Helper()
	k.next("")
}

func robDiscord(t *testing.T, program string) {
	server, err := discordtest.Start(discordtest.Options{Token: plantedDiscord})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	d := discordTown{server}
	r := newRobbery(t, program, d, "UNDERSTUDY_DISCORD_TOKEN="+plantedDiscord, "UNDERSTUDY_DISCORD_ALLOW=900", "UNDERSTUDY_LOG_FORMAT=json")
	r.configure(`"admin": {"channel": "discord:110", "users": ["discord:700"], "every": "1s"}`)
	r.secrets["the token of the bot"] = plantedDiscord
	r.begin()
	k := r.walk()

	// Interactions: one is answered, others end badly with their token in what
	// Discord says.
	press := func(i discordtest.Interaction, done func(id string) bool) {
		id := d.Interact(i)
		r.secrets["the token of interaction "+id] = "itok-" + id
		r.until(d, "an interaction", func() bool { return done(id) })
	}
	status := discordtest.Interaction{Channel: k.thread, User: "700", Command: "status"}
	press(status, func(id string) bool { return d.Answer(id).Content != "" })
	for n, where := range []string{"/webhooks/*/*/messages/@original", "/interactions/*/*/callback"} {
		before := len(d.Requests("", where))
		status.ID = fmt.Sprint(1400000000000000000 + n)
		d.Inject(discordtest.Fault{Path: where, Status: 404, Code: 10062, Message: "Unknown interaction itok-" + status.ID})
		press(status, func(string) bool { return len(d.Requests("", where)) > before })
	}
	d.Inject(discordtest.Fault{Path: "/webhooks/*/*/messages/@original", Status: 500, Body: "<html>token " + plantedDiscord + "</html>"})
	before := len(d.Requests("", "/webhooks/*/*/messages/@original"))
	press(discordtest.Interaction{Channel: k.thread, User: "700", Command: "retry"}, func(string) bool { return len(d.Requests("", "/webhooks/*/*/messages/@original")) > before })
	k.settle() // of the retry

	// Discord answers with the token; a post is refused with it.
	d.Inject(discordtest.Fault{Method: "POST", Path: "/channels/" + k.thread + "/messages", Status: 403, Code: 50013, Message: "Missing Permissions for Bot " + plantedDiscord})
	k.say(k.town.command("/help"))
	r.until(d, "the refused post", func() bool {
		return slices.ContainsFunc(d.Requests("POST", "/channels/"+k.thread+"/messages"), func(q discordtest.Request) bool { return q.Status == 403 })
	})

	// Somebody asks to be let in.
	direct := d.Direct("701")
	d.Say(direct, "701", "let me in")
	r.until(d, "the answer to a stranger", func() bool { return len(d.Posts(direct)) > 0 })
	code := codeOf(d.Posts(direct)[0].Content)
	r.until(d, "the word to operators", func() bool {
		return strings.Contains(fmt.Sprint(d.Posts("110")), "asks to write to me directly")
	})

	// A message with a file waits for its answer when the bot is killed.
	r.standIn.Queue("double", llmtest.Stream(llmtest.Hang()))
	n := asked(r.standIn)
	d.Say(k.thread, "700", "look at this", discordtest.WithFile("a.txt", "text/plain", []byte("a short text")))
	r.awaited(n + 1)
	for _, m := range d.Messages(k.thread) {
		for _, f := range m.Files {
			_, signed, _ := strings.Cut(f.URL, "hm=")
			r.secrets["the signature of a file"] = strings.TrimSuffix(signed, "&")
		}
	}
	r.stage("while it waits")
	r.commands(k.session())
	r.pages()
	r.kill()
	r.stage("after a kill")
	r.standIn.Queue("double", llmtest.Text("Seen by the "+canary+"."))
	d.DropAll()
	r.begin()
	r.until(d, "the answer after the kill", func() bool { return strings.Contains(fmt.Sprint(d.Posts(k.thread)), "Seen by the") })
	d.CloseAll(4000)
	r.until(d, "the way back", func() bool { return d.Connected() == 1 })

	// A token that Discord does not accept, and one that is no text for a header.
	for _, token := range []string{plantedWrong, plantedWrong + "\u200b"} {
		r.secrets["a wrong token"] = plantedWrong
		c := r.command("run")
		c.Env = append(c.Env, "UNDERSTUDY_DISCORD_TOKEN="+token, "UNDERSTUDY_STORE="+filepath.Join(r.dir, "other", "other.db"))
		r.add("output of a run with a wrong token", []byte(r.ends(c)))
	}
	if r.secrets["the signature of a file"] == "" {
		t.Error("no file was signed")
	}

	// What the runtime writes when it is asked where everything is.
	if err := r.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait() // it ends with an error
	if !strings.Contains(r.err.String(), "goroutine ") {
		t.Error("there is no trace of the goroutines")
	}
	r.stage("at the end")
	var told []string
	for _, q := range d.Requests("", "") {
		if strings.HasPrefix(q.Path, "/channels/"+direct+"/") {
			r.add("what a stranger was told", q.Body)
			continue
		}
		told = append(told, q.Method+" "+string(q.Body))
		if !strings.HasPrefix(q.Path, "/webhooks/") && !strings.HasPrefix(q.Path, "/interactions/") {
			told = append(told, q.Path)
		}
	}
	r.addJSON(t, "posts and other requests to Discord", told)
	r.search(code, "what a stranger was told")
}

func codeOf(text string) string {
	if m := codeIn.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// session is the key of the thread as commands take it.
func (k *talk) session() string { return k.town.key(k.thread).String() }

// awaited waits until the stand-in has got that many requests.
func (r *robbery) awaited(n int) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if err := r.standIn.Await(ctx, n, 0); err != nil {
		r.Fatal(err)
	}
}

// slackRobbery is what both ways to Slack have in common.
func slackRobbery(t *testing.T, program string, env ...string) (*robbery, slackTown) {
	t.Helper()
	server := slacktest.New(slacktest.Config{BotToken: plantedBot, AppToken: plantedApp, SigningSecret: plantedSigning})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	w := slackTown{server}
	r := newRobbery(t, program, w, append(env, "UNDERSTUDY_SLACK_BOT_TOKEN="+plantedBot, "UNDERSTUDY_SLACK_ALLOW="+slacktest.Channel+","+slacktest.Channel2)...)
	r.configure(`"admin": {"channel": "slack:` + slacktest.Channel2 + `", "users": ["slack:` + slacktest.User + `"], "every": "1s"}`)
	r.secrets["the bot token"] = plantedBot
	r.secrets["the app token"] = plantedApp
	r.secrets["the signing secret"] = plantedSigning
	return r, w
}

// press gives native commands and presses, some of which end badly.
func (r *robbery) press(w slackTown, k *talk) {
	r.Helper()
	triggers := []string{}
	answers := len(w.Responses())
	for _, command := range []string{"/botstatus", "/model", "/retry", "/stop"} {
		trigger, _ := w.Slash(slacktest.Channel, slacktest.User, command, "")
		triggers = append(triggers, trigger)
		answers++
		r.until(w, "the answer to "+command, func() bool { return len(w.Responses()) >= answers })
	}
	for _, callback := range []string{"model", "status"} {
		trigger, _ := w.Shortcut(slacktest.Channel, slacktest.User, callback, k.last)
		triggers = append(triggers, trigger)
	}
	w.Fail("response", slacktest.Fault{Status: 500}, slacktest.Fault{Error: "used_url " + plantedBot})
	for range 2 {
		calls := len(w.Calls("response"))
		trigger, _ := w.Slash(slacktest.Channel, slacktest.User, "/botstatus", "")
		triggers = append(triggers, trigger)
		r.until(w, "a response that fails", func() bool { return len(w.Calls("response")) > calls })
	}
	for _, trigger := range triggers {
		r.secrets["the "+trigger] = trigger
	}
	for i := range 200 { // their numbers are those of everything that is made there
		hook := fmt.Sprintf("hook-%08d", i)
		r.secrets["the response address "+hook] = hook
	}
	if len(triggers) < 8 {
		r.Errorf("only %d triggers", len(triggers))
	}
}

// rest is the rest of the story on Slack.
func (r *robbery) rest(w slackTown, k *talk) {
	r.Helper()
	// Slack answers with the tokens.
	w.Fail("chat.postMessage", slacktest.Fault{Error: "invalid_arguments", Fields: map[string]any{
		"response_metadata": map[string]any{"messages": []string{"[ERROR] the token " + plantedBot + " may not do that"}}, "needed": plantedBot, "provided": plantedApp,
	}})
	k.say(k.town.command("/help"))
	r.until(w, "the refused post", func() bool {
		return slices.ContainsFunc(w.Calls("chat.postMessage"), func(c slacktest.Call) bool { return c.Error == "invalid_arguments" })
	})

	w.Say(slacktest.DM, slacktest.User, "let me in")
	w.Say(slacktest.DM, slacktest.OtherUser, "let me in")
	var code string
	r.until(w, "the answer to a stranger", func() bool {
		for _, m := range w.Messages(slacktest.DM) {
			if code == "" {
				code = codeOf(m.Text)
			}
		}
		return code != ""
	})
	r.standIn.Queue("double", llmtest.Stream(llmtest.Hang()))
	n := asked(r.standIn)
	w.Host(slacktest.HostedFile{ID: "F0FILE", Name: "a.txt", MIME: "text/plain", Data: []byte("a short text")})
	w.Say(slacktest.Channel, slacktest.User, k.town.command("look at this"), slacktest.In(k.thread), w.Attach("F0FILE"))
	r.awaited(n + 1)
	r.secrets["the address of a file"] = "files-pri/F0FILE/download"
	r.stage("while it waits")
	r.commands(k.session())
	r.pages()
	if err := r.cmd.Process.Kill(); err != nil {
		r.Fatal(err)
	}
	_ = r.cmd.Wait() // it was killed
	r.stage("after a kill")
	for _, c := range w.Calls() {
		if c.Args["channel"] == slacktest.DM {
			r.addJSON(r.T, "what a stranger was told", c)
			continue
		}
		delete(c.Args, "trigger_id") // with which a view is opened
		r.addJSON(r.T, "posts and other requests to Slack", c.Args)
	}
	for _, a := range w.Responses() {
		r.addJSON(r.T, "answers to commands", a.Text+string(a.Blocks))
	}
	for _, token := range []string{"xoxb-" + plantedWrong, plantedWrong} {
		r.secrets["a wrong token"] = plantedWrong
		c := r.command("run")
		c.Env = append(c.Env, "UNDERSTUDY_SLACK_BOT_TOKEN="+token, "UNDERSTUDY_STORE="+filepath.Join(r.dir, "other", "other.db"))
		r.add("output of a run with a wrong token", []byte(r.ends(c)))
	}
	r.search(code, "what a stranger was told")
}

func robSlack(t *testing.T, program string) {
	r, w := slackRobbery(t, program, "UNDERSTUDY_SLACK_APP_TOKEN="+plantedApp)
	r.begin()
	k := r.walk()
	r.press(w, k)
	r.rest(w, k)
}

func robSlackHTTP(t *testing.T, program string) {
	r, w := slackRobbery(t, program, "UNDERSTUDY_SLACK_APP_TOKEN=", "UNDERSTUDY_SLACK_SIGNING_SECRET="+plantedSigning, "UNDERSTUDY_SLACK_HTTP=127.0.0.1:0")
	r.towns = nil // nobody connects to it
	r.begin()
	r.towns = []town{w}
	at := regexp.MustCompile(`requests of Slack" addr=(\S+)`).FindStringSubmatch(r.err.String())
	if at == nil {
		t.Fatal("the log does not name the address for Slack")
	}
	base := "http://" + at[1] + "/slack/"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.Subscribe(ctx, slacktest.Endpoints{Events: base + "events", Commands: base + "commands", Interactions: base + "interactions"}); err != nil {
		t.Fatal(err)
	}
	// Requests that are not signed, or with the secret in the place of a signature.
	for _, signature := range []string{"", "v0=" + plantedSigning, plantedSigning} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"events", strings.NewReader(`{"token": "`+plantedSigning+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Slack-Signature", signature)
		req.Header.Set("X-Slack-Request-Timestamp", fmt.Sprint(time.Now().Unix()))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("a forged request was answered with %d", resp.StatusCode)
		}
		r.add("page for Slack", body)
	}
	k := r.walk()
	r.press(w, k)
	r.rest(w, k)
}

// robKeyFile: the key in the file is nowhere else.
func robKeyFile(t *testing.T, program string) {
	d := newDiscordTown(t).(discordTown)
	s := newStand(t, d)
	m := &machine{stand: s, program: program}
	m.standIn.Queue("double", llmtest.Text("Good evening, said the "+canary))
	m.lead.Queue("actor", llmtest.Failure(500, "api_error", "no"))
	m.start()
	k := m.open(d, "hello")
	k.next(canary)
	direct := d.Direct("701")
	m.env = append(m.env, "UNDERSTUDY_DISCORD_ALLOW=900")
	m.terminate()
	m.ended()
	m.start() // without a place for everybody, so that somebody has to ask
	d.Say(direct, "701", "let me in")
	m.until(d, "the answer to a stranger", func() bool { return len(d.Posts(direct)) > 0 })
	h := hoard{}
	for _, args := range [][]string{{"check"}, {"store", "backup"}, {"store", "check", "--json"}, {"sessions", "export", k.session()}} {
		_, text := m.run(args...)
		h.add("output of "+args[0], []byte(text))
	}
	m.terminate()
	m.ended()
	content, err := os.ReadFile(filepath.Join(filepath.Dir(m.storePath()), seal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(content))
	h.addFolder(t, m.dir)
	h.add("what the bot said", []byte(m.err.String()))
	for _, where := range h.find(lines[len(lines)-1]) {
		t.Errorf("the key of the seals is in: %s", where)
	}
	if found := h.find(codeOf(d.Posts(direct)[0].Content)); len(found) > 0 {
		t.Errorf("the pairing code is in: %q", found)
	}
	if found := strings.Join(h.find(canary), "\n"); !strings.Contains(found, "rows of store/understudy-") || !strings.Contains(found, "output of sessions") {
		t.Errorf("what a model said is only in:\n%s", found)
	}
}
