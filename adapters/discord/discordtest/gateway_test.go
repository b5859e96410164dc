package discordtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"understudy/adapters/discord/discordtest"
)

// line is a gateway connection that does only what a test says.
type line struct {
	*testing.T
	conn *websocket.Conn
	seq  int64
}

// reply is the answer to a request as it is.
func (c client) reply(method, path string) *http.Response {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.URL+"/v10"+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Authorization", "Bot "+c.token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { response.Body.Close() })
	return response
}

func (c client) head(method, path string) http.Header { return c.reply(method, path).Header }

func (c client) body(method, path string) []byte {
	c.Helper()
	text, err := io.ReadAll(c.reply(method, path).Body)
	if err != nil {
		c.Fatal(err)
	}
	return text
}

type packet struct {
	Op int             `json:"op"`
	D  json.RawMessage `json:"d"`
	S  int64           `json:"s"`
	T  string          `json:"t"`
}

func (c client) dial(query string) *line {
	c.Helper()
	address := strings.Replace(strings.TrimSuffix(c.URL, "/api"), "http://", "ws://", 1) + "/gateway" + query
	conn, _, err := websocket.DefaultDialer.DialContext(c.Context(), address, nil)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { conn.Close() })
	return &line{T: c.T, conn: conn}
}

// greeted is a line on which Discord has said hello.
func (c client) greeted() *line {
	c.Helper()
	l := c.dial("?v=10&encoding=json")
	if p := l.next(); p.Op != 10 {
		c.Fatalf("first packet %+v", p)
	}
	return l
}

func (l *line) send(op int, d any) {
	l.Helper()
	if err := l.conn.WriteJSON(object{"op": op, "d": d}); err != nil {
		l.Fatal(err)
	}
}

func (l *line) next() packet {
	l.Helper()
	var p packet
	_ = l.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	if err := l.conn.ReadJSON(&p); err != nil {
		l.Fatalf("next packet: %v", err)
	}
	if p.S > 0 {
		l.seq = p.S
	}
	return p
}

// event waits for an event.
func (l *line) event(name string) packet {
	l.Helper()
	for {
		if p := l.next(); p.T == name {
			return p
		}
	}
}

// closed is the code with which the connection is closed.
func (l *line) closed() int {
	l.Helper()
	_ = l.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		_, _, err := l.conn.ReadMessage()
		var closed *websocket.CloseError
		switch {
		case errors.As(err, &closed):
			return closed.Code
		case err != nil:
			l.Fatalf("the connection ended otherwise: %v", err)
		}
	}
}

func identify(over object) object {
	d := object{"token": discordtest.DefaultToken, "intents": 1 | 1<<9 | 1<<12 | 1<<15, "properties": object{"os": "linux"}}
	for k, v := range over {
		d[k] = v
	}
	return d
}

// in identifies and returns the greeting's session.
func (l *line) in(over object) (session, address string) {
	l.Helper()
	l.send(2, identify(over))
	var d struct {
		Session string `json:"session_id"`
		Resume  string `json:"resume_gateway_url"`
	}
	if err := json.Unmarshal(l.event("READY").D, &d); err != nil {
		l.Fatal(err)
	}
	return d.Session, d.Resume
}

// Whoever breaks a rule of the gateway is closed with Discord's code.
func TestCloseCodes(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name string
		set  func(*discordtest.Server)
		send []packet
		code int
	}{
		{name: "no such operation", send: []packet{{Op: 42}}, code: 4001},
		{name: "identified without anything", send: []packet{{Op: 2, D: json.RawMessage(`{}`)}}, code: 4002},
		{name: "not identified yet", send: []packet{{Op: 3, D: json.RawMessage(`{}`)}}, code: 4003},
		{name: "another token", send: []packet{{Op: 2, D: raw(identify(object{"token": "x"}))}}, code: 4004},
		{name: "identified twice", send: []packet{{Op: 2, D: raw(identify(nil))}, {Op: 2, D: raw(identify(nil))}}, code: 4005},
		{name: "no such shard", send: []packet{{Op: 2, D: raw(identify(object{"shard": []int{2, 2}}))}}, code: 4010},
		{name: "too few shards", set: func(s *discordtest.Server) { s.Shards(2) }, send: []packet{{Op: 2, D: raw(identify(nil))}}, code: 4011},
		{name: "no such intent", send: []packet{{Op: 2, D: raw(identify(object{"intents": 1 << 30}))}}, code: 4013},
		{name: "an intent that is off", set: func(s *discordtest.Server) { s.Switch(discordtest.IntentMessageContent, false) },
			send: []packet{{Op: 2, D: raw(identify(nil))}}, code: 4014},
		{name: "no heartbeats", set: func(s *discordtest.Server) { s.Heartbeat(50 * time.Millisecond) }, code: 4009},
		{name: "too long", send: []packet{{Op: 3, D: raw(strings.Repeat("x", 5000))}}, code: 4002},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			if x.set != nil {
				x.set(c.Server)
			}
			l := c.greeted()
			for _, p := range x.send {
				l.send(p.Op, p.D)
			}
			if code := l.closed(); code != x.code {
				t.Errorf("closed with %d, not %d", code, x.code)
			}
		})
	}
	t.Run("an old version", func(t *testing.T) {
		t.Parallel()
		if code := start(t).dial("?v=6&encoding=json").closed(); code != 4012 {
			t.Errorf("closed with %d", code)
		}
	})
	t.Run("no JSON", func(t *testing.T) {
		t.Parallel()
		l := start(t).greeted()
		if err := l.conn.WriteMessage(websocket.TextMessage, []byte("{")); err != nil {
			t.Fatal(err)
		}
		if code := l.closed(); code != 4002 {
			t.Errorf("closed with %d", code)
		}
	})
	t.Run("too many", func(t *testing.T) {
		t.Parallel()
		l := start(t).greeted()
		for range 121 {
			l.send(1, nil)
		}
		if code := l.closed(); code != 4008 {
			t.Errorf("closed with %d", code)
		}
	})
}

func raw(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

// What a connection missed is replayed to whoever resumes its session, in order
// and before the word that it is resumed.
func TestResumptionReplays(t *testing.T) {
	t.Parallel()
	c := start(t)
	l := c.greeted()
	session, address := l.in(nil)
	l.event("GUILD_CREATE")
	if !strings.HasPrefix(address, "ws://") {
		t.Errorf("resume at %q", address)
	}
	l.conn.Close()
	for i := range 3 {
		c.Say("100", "700", fmt.Sprint(i))
	}
	again := c.greeted()
	again.send(6, object{"token": discordtest.DefaultToken, "session_id": session, "seq": l.seq})
	for i := range 3 {
		p := again.next()
		var m struct{ Content string }
		if err := json.Unmarshal(p.D, &m); err != nil || p.T != "MESSAGE_CREATE" || m.Content != fmt.Sprint(i) || p.S != l.seq+int64(i)+1 {
			t.Errorf("packet %d: %+v", i, p)
		}
	}
	if p := again.next(); p.T != "RESUMED" {
		t.Errorf("then %+v", p)
	}
	again.send(1, again.seq)
	if p := again.next(); p.Op != 11 {
		t.Errorf("a heartbeat is answered with %+v", p)
	}
}

func TestSessionsThatCannotBeResumed(t *testing.T) {
	t.Parallel()
	resume := func(c client, session string, seq int64) *line {
		l := c.greeted()
		l.send(6, object{"token": discordtest.DefaultToken, "session_id": session, "seq": seq})
		return l
	}
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		if p := resume(start(t), "nothing", 1).next(); p.Op != 9 || string(p.D) != "false" {
			t.Errorf("packet %+v", p)
		}
	})
	t.Run("after a goodbye", func(t *testing.T) {
		t.Parallel()
		c := start(t)
		l := c.greeted()
		session, _ := l.in(nil)
		_ = l.conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
		if err := c.Await(t.Context(), func() bool { return c.Sessions() == 0 }); err != nil {
			t.Fatal(err)
		}
		if p := resume(c, session, 1).next(); p.Op != 9 {
			t.Errorf("packet %+v", p)
		}
	})
	t.Run("from the future", func(t *testing.T) {
		t.Parallel()
		c := start(t)
		l := c.greeted()
		session, _ := l.in(nil)
		if code := resume(c, session, 1000).closed(); code != 4007 {
			t.Errorf("closed with %d", code)
		}
	})
}

// What happens in a guild is told to its shard alone; the first one hears the
// rest.
func TestShardsHearTheirOwn(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.AddGuild("4194304", "300") // 1<<22
	c.Shards(2)
	var lines []*line
	for shard := range 2 {
		l := c.greeted()
		l.in(object{"shard": []int{shard, 2}})
		lines = append(lines, l)
	}
	c.Say("300", "700", "second")
	c.Say("100", "700", "first")
	c.Say(c.Direct("700"), "700", "direct")
	for shard, want := range [][]string{{"first", "direct"}, {"second"}} {
		for _, text := range want {
			var m struct{ Content string }
			if _ = json.Unmarshal(lines[shard].event("MESSAGE_CREATE").D, &m); m.Content != text {
				t.Errorf("shard %d hears %q in place of %q", shard, m.Content, text)
			}
		}
	}
}

func TestQuotaOfSessions(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.LimitStarts(discordtest.StartLimit{Remaining: 2, Reset: time.Hour, Every: time.Hour})
	c.greeted().in(nil)
	l := c.greeted()
	l.send(2, identify(nil))
	if p := l.next(); p.Op != 9 || string(p.D) != "false" {
		t.Errorf("too soon: %+v", p)
	}
	c.LimitStarts(discordtest.StartLimit{Remaining: 0, Reset: time.Hour})
	l.send(2, identify(nil))
	if p := l.next(); p.Op != 9 {
		t.Errorf("too often: %+v", p)
	}
	var info struct {
		Shards int
		Limit  struct {
			Total, Remaining int
			ResetAfter       int `json:"reset_after"`
			MaxConcurrency   int `json:"max_concurrency"`
		} `json:"session_start_limit"`
	}
	if err := json.Unmarshal(c.body("GET", "/gateway/bot"), &info); err != nil {
		t.Fatal(err)
	}
	if l := info.Limit; info.Shards != 1 || l.Total != 1000 || l.Remaining != 0 || l.ResetAfter < 3_500_000 || l.MaxConcurrency != 1 {
		t.Errorf("GET /gateway/bot says %+v", info)
	}
}

// Answers say whose limit was hit.
func TestScopesOfLimits(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.LimitGlobally(3)
	var head []string
	for range 4 {
		a := c.head("GET", "/users/@me")
		head = append(head, a.Get("X-RateLimit-Scope")+a.Get("X-RateLimit-Global"))
	}
	if got := strings.Join(head, ","); got != ",,,globaltrue" {
		t.Errorf("scopes %q", got)
	}
	c.LimitGlobally(0)
	c.Inject(discordtest.Fault{Status: 429, RetryAfter: time.Second, Shared: true})
	if a := c.head("GET", "/users/@me"); a.Get("X-RateLimit-Scope") != "shared" || a.Get("Retry-After") != "1" {
		t.Errorf("shared: %v", a)
	}
	if n := c.Invalid(); n != 1 {
		t.Errorf("%d invalid answers", n)
	}
	c.BanAfter(1)
	if text := string(c.body("GET", "/users/@me")); !strings.Contains(text, "1015") {
		t.Errorf("after a ban: %q", text)
	}
}

func TestCommandsOfAnApplication(t *testing.T) {
	t.Parallel()
	c := start(t)
	command := func(name string) object { return object{"name": name, "description": "x"} }
	path := "/applications/" + discordtest.ApplicationID + "/commands"
	guild := "/applications/" + discordtest.ApplicationID + "/guilds/900/commands"
	many := func(n int) (all []object) {
		for i := range n {
			all = append(all, command(fmt.Sprintf("c%d", i)))
		}
		return all
	}
	for _, x := range []struct {
		name, method, path string
		body               any
		status, code       int
	}{
		{"some", "PUT", path, many(60), 200, 0},
		{"the same again", "PUT", path, many(60), 200, 0},
		{"too many", "PUT", path, many(101), 400, 30032},
		{"a bad name", "PUT", path, []object{command("Two Words")}, 400, 50035},
		{"no description", "POST", path, object{"name": "x"}, 400, 50035},
		{"in a guild", "PUT", guild, many(100), 200, 0},
		{"one more there", "POST", guild, command("more"), 400, 30032},
		{"none", "PUT", guild, []object{}, 200, 0},
		{"the last ones of the day", "PUT", guild, many(100), 200, 0},
		{"none again", "PUT", guild, []object{}, 200, 0},
		{"too many for a day", "PUT", guild, many(1), 400, 30034},
		{"gone", "DELETE", guild + "/1", nil, 404, 10063},
	} {
		if a := c.do(x.method, x.path, x.body); a.status != x.status || a.Code != x.code {
			t.Errorf("%s: %d with code %d, want %d with %d", x.name, a.status, a.Code, x.status, x.code)
		}
	}
	if n := c.Creates(); n != 260 {
		t.Errorf("%d creations", n)
	}
}
