package slack

import (
	"context"
	"errors"
	"testing"
)

func TestPlain(t *testing.T) {
	a := &Adapter{me: &identity{user: "U0BOT", name: "understudy"}}
	a.names = newNames(func(_ context.Context, user string) (person, error) {
		if user == "U1" {
			return person{name: "Ann"}, nil
		}
		return person{}, errors.New("unknown")
	})
	defer a.names.stop()
	for in, want := range map[string]string{
		"<@U0BOT> hi":                            "hi",
		"<@U0BOT|bot>: /model x":                 "/model x",
		"  <@U0BOT>, <@U0BOT> hi":                "hi",
		"hi <@U0BOT>":                            "hi",
		"what can <@U0BOT> do?":                  "what can @understudy do?",
		"<@U0BOT>":                               "",
		"<@U0BOTX> hi":                           "@U0BOTX hi",
		"<@U1> and <@U2> and <@U3|Carl>":         "@Ann and @U2 and @Carl",
		"<#C1|general> <#C2>":                    "#general #C2",
		"<!here> <!channel> <!everyone>":         "@here @channel @everyone",
		"<!subteam^S1|@devs> <!subteam^S2>":      "@devs @S2",
		"<!date^1700000000^{date}|Nov 14>":       "Nov 14",
		"<https://e.invalid/a?x=1&amp;y=2>":      "https://e.invalid/a?x=1&y=2",
		"<https://e.invalid|e.invalid>":          "https://e.invalid",
		"<https://e.invalid/x|docs &amp; more>":  "[docs & more](https://e.invalid/x)",
		"<mailto:a@e.invalid|a@e.invalid>":       "a@e.invalid",
		"1 &lt; 2 &amp;&amp; 3 &gt; 2, &amp;lt;": "1 < 2 && 3 > 2, &lt;",
		"&lt;@U1&gt; is no mention":              "<@U1> is no mention",
		"`code &lt;T&gt;`":                       "`code <T>`",
		"broken <":                               "broken <",
	} {
		if got := a.plain(t.Context(), "T1", in); got != want {
			t.Errorf("%q reads %q, want %q", in, got, want)
		}
	}
}

func TestMentions(t *testing.T) {
	for in, want := range map[string]bool{
		"<@U0BOT> hi": true, "hi <@U0BOT|bot>": true, "<@U0BOTX>": false, "U0BOT": false,
		"`<@U0BOT>`": false, "```\n<@U0BOT>\n```": false, "`a` <@U0BOT> `b`": true, "it`s <@U0BOT>": true,
	} {
		if got := mentions(in, "U0BOT"); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}
