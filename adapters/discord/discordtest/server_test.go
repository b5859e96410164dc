package discordtest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"understudy/adapters/discord/discordtest"
)

// client speaks to a fake the way any bot does.
type client struct {
	*testing.T
	*discordtest.Server
	token string
}

func start(t *testing.T) client {
	s, err := discordtest.Start(discordtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return client{t, s, discordtest.DefaultToken}
}

type answer struct {
	status int
	ID     string
	Code   int
	Type   int
}

func (c client) do(method, path string, body any) answer {
	c.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		c.Fatal(err)
	}
	r, err := http.NewRequestWithContext(c.Context(), method, c.URL+"/v10"+path, bytes.NewReader(raw))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Authorization", "Bot "+c.token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer response.Body.Close()
	var a answer
	_ = json.NewDecoder(response.Body).Decode(&a) // lists and empty answers have no fields
	a.status = response.StatusCode
	return a
}

type object = map[string]any

// What Discord refuses is refused, with Discord's codes.
func TestRefusals(t *testing.T) {
	c := start(t)
	here, there := c.Say("100", "700", "here"), c.Say("110", "700", "there")
	reply := func(id string, mustExist bool) object {
		return object{"content": "x", "message_reference": object{"message_id": id, "fail_if_not_exists": mustExist}}
	}
	c.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread, Locked: true})
	c.AddChannel(discordtest.Channel{ID: "600", Type: discordtest.Forum})
	for _, x := range []struct {
		name, method, path string
		body               any
		status, code       int
	}{
		{"unknown route", "GET", "/nowhere", nil, 404, 0},
		{"unknown channel", "POST", "/channels/1/messages", object{"content": "x"}, 404, 10003},
		{"too long", "POST", "/channels/100/messages", object{"content": strings.Repeat("語", 2001)}, 400, 50035},
		{"just short enough", "POST", "/channels/100/messages", object{"content": strings.Repeat("語", 2000)}, 200, 0},
		{"empty", "POST", "/channels/100/messages", object{"content": ""}, 400, 50006},
		{"locked", "POST", "/channels/500/messages", object{"content": "x"}, 400, 160005},
		{"forum", "POST", "/channels/600/messages", object{"content": "x"}, 400, 50008},
		{"long nonce", "POST", "/channels/100/messages", object{"content": "x", "nonce": strings.Repeat("n", 26)}, 400, 50035},
		{"reply", "POST", "/channels/100/messages", reply(here, true), 200, 0},
		{"reply to another channel", "POST", "/channels/100/messages", reply(there, false), 400, 50035},
		{"reply to what is gone", "POST", "/channels/100/messages", reply("1", true), 400, 50035},
		{"reply to what may be gone", "POST", "/channels/100/messages", reply("1", false), 200, 0},
		{"somebody else's message", "PATCH", "/channels/100/messages/" + here, object{"content": "x"}, 403, 50005},
		{"message that is gone", "PATCH", "/channels/100/messages/1", object{"content": "x"}, 404, 10008},
		{"thread", "POST", "/channels/100/messages/" + here + "/threads", object{"name": "x"}, 201, 0},
		{"second thread", "POST", "/channels/100/messages/" + here + "/threads", object{"name": "x"}, 400, 160004},
		{"thread without a name", "POST", "/channels/110/messages/" + there + "/threads", object{}, 400, 50035},
		{"late callback", "POST", "/interactions/1/token/callback", object{"type": 5}, 404, 10062},
	} {
		if a := c.do(x.method, x.path, x.body); a.status != x.status || a.Code != x.code {
			t.Errorf("%s: %d with code %d, want %d with %d", x.name, a.status, a.Code, x.status, x.code)
		}
	}
	c.token = "wrong"
	if a := c.do("GET", "/users/@me", nil); a.status != 401 {
		t.Errorf("a wrong token: %d", a.status)
	}
}

func TestNonceIsEnforcedOnlyWhenAsked(t *testing.T) {
	c := start(t)
	post := func(enforce bool) string {
		return c.do("POST", "/channels/100/messages", object{"content": "x", "nonce": "n", "enforce_nonce": enforce}).ID
	}
	first := post(true)
	if again := post(true); again != first {
		t.Error("the nonce made two messages")
	}
	if other := post(false); other == first {
		t.Error("a nonce was enforced that was not to be")
	}
	c.ForgetNonces()
	if later := post(true); later == first {
		t.Error("the nonce is enforced for ever")
	}
}

func TestFirstFollowUpTakesThePlaceOfTheDeferredAnswer(t *testing.T) {
	c := start(t)
	id := c.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"})
	callback := "/interactions/" + id + "/itok-" + id + "/callback"
	if a := c.do("POST", callback, object{"type": 5, "data": object{"flags": 64}}); a.status != 204 {
		t.Fatalf("callback: %+v", a)
	}
	if a := c.do("POST", callback, object{"type": 5}); a.Code != 40060 {
		t.Errorf("second callback: %+v", a)
	}
	hook := "/webhooks/" + discordtest.ApplicationID + "/itok-" + id
	c.do("POST", hook, object{"content": "a notice"})
	c.do("POST", hook, object{"content": "another"})
	a := c.Answer(id)
	if a.Content != "a notice" || !a.Ephemeral || len(a.FollowUps) != 1 || a.FollowUps[0].Ephemeral {
		t.Errorf("answer %+v", a)
	}
	if posts := c.Posts("100"); len(posts) != 1 || posts[0].Content != "another" {
		t.Errorf("everybody sees %+v", posts)
	}
}

func TestLimits(t *testing.T) {
	c := start(t)
	c.Limit(1, 1<<40)
	c.do("POST", "/channels/100/messages", object{"content": "x"})
	if a := c.do("POST", "/channels/100/messages", object{"content": "x"}); a.status != 429 {
		t.Errorf("second request: %+v", a)
	}
	if a := c.do("POST", "/channels/110/messages", object{"content": "x"}); a.status != 200 {
		t.Errorf("another channel: %+v", a)
	}
}
