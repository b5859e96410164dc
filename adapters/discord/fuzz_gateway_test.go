package discord

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"understudy/core"
)

// Whatever frames the gateway sends, in whatever order, nothing fails, and the
// connection is either kept or ended.
func FuzzGateway(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"op":10,"d":{"heartbeat_interval":41250}}`, `{"op":0,"s":1,"t":"READY","d":{"session_id":"a","resume_gateway_url":"ws://x","user":{"id":"800"},"application":{"id":"801"},"guilds":[{"id":"900"}],"shard":[0,1]}}`},
		{`{"op":10,"d":{"heartbeat_interval":"0.5"}}`, `{"op":0,"s":"2","t":"READY","d":{"session_id":7,"user":{"id":800},"guilds":null,"shard":["0","0"]}}`},
		{`{"op":10,"d":null}`, `{"op":0,"t":"READY","d":null}`},
		{`{"op":10}`, `{"op":0,"s":1e99,"t":"RESUMED","d":[]}`},
		{`{"op":"9","d":"true"}`, `{"op":9,"d":true}`},
		{`{"op":7,"d":null}`, `{"op":1,"d":251}`},
		{`{"op":11,"extra":{}}`, `{"op":0,"s":-1,"t":"GUILD_CREATE","d":{"id":900,"channels":null,"threads":[{}]}}`},
		{`{"op":{}}`, `[{"op":0}]`},
		{`{"op":0,"s":3,"t":"INTERACTION_CREATE","d":{"id":1,"token":"t","type":2}}`, `{"op":0,"s":4,"t":"MESSAGE_DELETE_BULK","d":{"ids":null}}`},
		{`{"op":0,"s":3,"t":null,"d":{"id":1}}`, `{"op":0,"s":4,"t":"TYPING_START","d":"x"}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		a, err := New(Config{Token: core.NewSecret("x"), Allow: []string{"*"}, DM: DMOpen,
			Log: slog.New(alarm{slog.DiscardHandler, t}), HTTP: &http.Client{Transport: nobody{}}})
		if err != nil {
			t.Fatal(err)
		}
		a.Hasten()
		a.identify("800", "801")
		ctx, cancel := context.WithCancelCause(t.Context())
		r := newRun(ctx, a, deaf{})
		a.stand.begin()
		s := &shard{run: r, count: 1}
		l := &link{shard: s, done: func(bool) {}, ctx: ctx, cancel: cancel, send: func(int, any) error { return nil }}
		for _, raw := range [][]byte{one, two, one} {
			if l.take(raw) != nil {
				break
			}
		}
		cancel(nil)
		l.work.Wait()
		s.judge(l)
		r.wait()
		a.stand.end(nil)
		if s.seq.Load() < 0 {
			t.Errorf("the newest event has the number %d", s.seq.Load())
		}
	})
}
