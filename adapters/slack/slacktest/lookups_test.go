package slacktest

import "testing"

// TestLookups calls what adapters here do not need and clients by others do.
func TestLookups(t *testing.T) {
	s := New(Config{})
	ts := s.Say(Channel, User, "hello")
	s.Say(Channel, OtherUser, "hi", In(ts))
	for _, c := range []struct {
		method string
		args   args
		error  string
	}{
		{"conversations.open", args{"users": User}, ""},
		{"conversations.open", args{"users": OtherBot}, "cannot_dm_bot"},
		{"conversations.open", args{"users": "U1"}, "user_not_found"},
		{"conversations.members", args{"channel": "C1"}, "channel_not_found"},
		{"reactions.remove", args{"channel": Channel, "timestamp": ts, "name": "eyes"}, "no_reaction"},
		{"reactions.add", args{"channel": Channel, "timestamp": ts, "name": "eyes"}, ""},
		{"reactions.add", args{"channel": Channel, "timestamp": ts, "name": "eyes"}, "already_reacted"},
		{"reactions.remove", args{"channel": Channel, "timestamp": ts, "name": "eyes"}, ""},
		{"reactions.add", args{"channel": Channel, "timestamp": "1.000001", "name": "eyes"}, "message_not_found"},
	} {
		if got, _ := s.run(c.method, BotToken, c.args)["error"].(string); got != c.error {
			t.Errorf("%s %v is answered with %q, want %q", c.method, c.args, got, c.error)
		}
	}
	if got := len(s.run("conversations.list", BotToken, args{"types": "public_channel,im"})["channels"].([]any)); got != 3 {
		t.Errorf("there are %d public channels and direct conversations, want 3", got)
	}
	list := s.run("conversations.replies", BotToken, args{"channel": Channel, "ts": ts})["messages"].([]any)
	root, reply := list[0].(map[string]any), list[1].(map[string]any)
	if root["thread_ts"] != ts || root["reply_count"] != 1 || root["latest_reply"] != reply["ts"] || reply["parent_user_id"] != User {
		t.Errorf("the thread reads %v, %v", root, reply)
	}
}

// TestGrant: scopes that are taken away are missed until they are given again.
func TestGrant(t *testing.T) {
	s := New(Config{})
	s.Grant("chat:write")
	if got := s.run("users.info", BotToken, args{"user": User}); got["error"] != "missing_scope" || got["needed"] != "users:read" {
		t.Errorf("without its scope the call is answered with %v", got)
	}
	s.Grant()
	if got := s.run("users.info", BotToken, args{"user": User}); got["error"] != nil {
		t.Errorf("with all scopes the call is answered with %v", got)
	}
}
