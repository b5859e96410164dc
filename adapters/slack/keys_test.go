package slack

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"understudy/core"
)

// spot is a place where somebody writes, or acts on what was written: a message
// with a timestamp, and the root of its thread if it is in one.
type spot struct {
	team, channel, kind string // kind is Slack's channel_type
	ts, root            string
	assistant           bool // a direct message in the assistant view
}

// opener reports whether the message is at the root of its place.
func (s spot) opener() bool { return s.root == "" }

// message is the message as Slack describes it.
func (s spot) message() map[string]any {
	m := map[string]any{"type": "message", "user": "U1", "text": "<@U0BOT> hi", "ts": s.ts, "team": s.team}
	if s.root != "" {
		m["thread_ts"] = s.root
	}
	if s.assistant {
		m["assistant_thread"] = map[string]any{"action_token": "1.2.abc"}
	}
	return m
}

// tell is an event about the message, as Slack wraps it.
func (s spot) tell(change func(event, outer map[string]any)) payload {
	ev := s.message()
	ev["channel"], ev["channel_type"], ev["event_ts"] = s.channel, s.kind, s.ts
	outer := map[string]any{"type": "event_callback", "event_id": "Ev1", "team_id": s.team, "context_team_id": s.team, "api_app_id": "A1",
		"authorizations": []any{map[string]any{"team_id": s.team}}, "event": ev}
	change(ev, outer)
	return must[payload](outer)
}

// must is a value as it comes out of JSON.
func must[T any](v any) T {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	out, err := decode[T](data)
	if err != nil {
		panic(err)
	}
	return out
}

// tellings are the events that Slack may send of one message: in any order, more
// than once, and with more or less in them.
func (s spot) tellings() map[string]payload {
	all := map[string]payload{
		"message":    s.tell(func(ev, _ map[string]any) {}),
		"redelivery": s.tell(func(_, outer map[string]any) { outer["event_id"] = "Ev1" }),
		"with a file": s.tell(func(ev, _ map[string]any) {
			ev["subtype"], ev["files"] = "file_share", []any{map[string]any{"id": "F1"}}
			delete(ev, "team")
		}),
		"organisation": s.tell(func(_, outer map[string]any) {
			outer["enterprise_id"], outer["context_enterprise_id"], outer["team_id"] = "E1", "E1", "E1"
		}),
		"shared": s.tell(func(ev, outer map[string]any) {
			outer["is_ext_shared_channel"], outer["team_id"] = true, "T9"
			ev["user_team"], ev["source_team"], ev["team"] = "T9", "T9", "T9"
		}),
		"authorised": s.tell(func(_, outer map[string]any) { outer["context_team_id"], outer["team_id"] = nil, "T9" }),
		"number": s.tell(func(ev, _ map[string]any) {
			ev["ts"] = json.Number(s.ts)
			if s.root != "" {
				ev["thread_ts"] = json.Number(s.root)
			}
		}),
		"read later": recalled(s),
	}
	if s.kind != "im" {
		all["mention"] = s.tell(func(ev, _ map[string]any) {
			ev["type"], ev["event_ts"] = "app_mention", s.ts
			delete(ev, "channel_type")
		})
	}
	if s.root != "" {
		all["broadcast"] = s.tell(func(ev, _ map[string]any) { ev["subtype"] = "thread_broadcast" })
	}
	if s.opener() && s.kind != "im" {
		all["root with replies"] = s.tell(func(ev, _ map[string]any) { ev["thread_ts"] = s.ts })
	}
	return all
}

// recalled is the message as it is read after a gap.
func recalled(s spot) payload {
	ev := must[event](s.message())
	ev.Type, ev.Channel, ev.ChannelType = "message", s.channel, s.kind
	return payload{TeamID: s.team, Event: ev, recalled: true}
}

// changes are what Slack may tell of the message later.
func (s spot) changes() map[string]payload {
	return map[string]payload{
		"edit": s.tell(func(ev, _ map[string]any) {
			old := maps.Clone(ev)
			clear(ev)
			maps.Copy(ev, map[string]any{"type": "message", "subtype": "message_changed", "channel": s.channel, "channel_type": s.kind, "ts": "1800000000.000001", "message": old, "previous_message": s.message()})
		}),
		"deletion": s.tell(func(ev, _ map[string]any) {
			old := maps.Clone(ev)
			clear(ev)
			maps.Copy(ev, map[string]any{"type": "message", "subtype": "message_deleted", "channel": s.channel, "channel_type": s.kind, "ts": "1800000000.000001", "deleted_ts": s.ts, "previous_message": old})
		}),
	}
}

// acts are the threads in which somebody acts who uses what stands beside the
// message, in the thread of it.
func (s spot) acts(t *testing.T, a *Adapter, of core.Thread) map[string]core.Thread {
	t.Helper()
	name := map[string]string{"im": "directmessage", "mpim": "mpdm-ann--ben-1", "channel": "general", "group": "secret"}[s.kind]
	about := map[string]any{"team": map[string]any{"id": s.team}, "user": map[string]any{"id": "U1", "team_id": s.team}, "channel": map[string]any{"id": s.channel, "name": name}, "trigger_id": "t"}
	with := func(more map[string]any) map[string]any {
		m := maps.Clone(about)
		maps.Copy(m, more)
		return m
	}
	all := map[string]core.Thread{}
	invoke := func(name string, call0 map[string]any) {
		inv, _, ok := a.invocation("interactive", must[call](call0))
		if !ok {
			t.Errorf("%s is no call", name)
		}
		all[name] = inv.Target.Thread
	}
	if inv, ok := a.shortcutInvocation(must[shortcut](with(map[string]any{"type": "message_action", "callback_id": "stop", "message_ts": s.ts, "message": s.message()}))); ok {
		all["shortcut"] = inv.Target.Thread
	} else {
		t.Error("the shortcut is none")
	}
	press := []any{map[string]any{"action_id": "press:t0k 0", "value": "x"}}
	if of.Root != "" { // what the bot posts is in the thread
		invoke("press", with(map[string]any{"type": "block_actions", "actions": press,
			"container": map[string]any{"message_ts": "1800000000.000002", "thread_ts": of.Root}, "message": map[string]any{"ts": "1800000000.000002", "thread_ts": of.Root}}))
		invoke("press, ephemeral", with(map[string]any{"type": "block_actions", "actions": press,
			"container": map[string]any{"message_ts": "1800000000.000002", "thread_ts": of.Root, "is_ephemeral": true}}))
		invoke("press, message only", with(map[string]any{"type": "block_actions", "actions": press, "message": map[string]any{"ts": "1800000000.000002", "thread_ts": of.Root}}))
		stop := spot{s.team, s.channel, s.kind, "1800000000.000003", of.Root, false}.tell(func(ev, _ map[string]any) {
			ev["type"] = "agent_session_stopped"
			delete(ev, "ts")
			delete(ev, "channel_type")
		})
		all["Slack's stop button"] = a.thread(stop, stop.subject())
	} else {
		invoke("press", with(map[string]any{"type": "block_actions", "actions": press, "container": map[string]any{"message_ts": "1800000000.000002"}, "message": map[string]any{"ts": "1800000000.000002"}}))
	}
	private, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	invoke("modal", map[string]any{"type": "block_actions", "actions": press, "trigger_id": "t", "user": map[string]any{"id": "U1"},
		"view": map[string]any{"id": "V1", "callback_id": viewCallback, "private_metadata": string(private)}})
	return all
}

// keyed is an adapter of one workspace, or of a whole organisation.
func keyed(t *testing.T, mode ReplyTo, organisation bool) *Adapter {
	a := fuzzed(t, quiet{})
	t.Cleanup(a.names.stop)
	a.cfg.ReplyTo = everywhere(mode)
	if organisation {
		a.me.organisation, a.me.team = "E1", "E1"
	}
	return a
}

// TestCasesOfKeys holds what every session rests on. Wherever somebody writes,
// all that Slack tells of the message, and all that is done beside it, lead to
// one conversation; the opener of a thread and its replies are one; and no two
// places or threads are.
func TestCasesOfKeys(t *testing.T) {
	t.Run("p045", everyEntranceOneConversation)
	t.Run("p019", openersAndReplies)
	t.Run("p104", threadsOfDirectMessages)
}

// spots are messages all over Slack, with ids of every form.
func spots(rng *rand.Rand, organisation bool) []spot {
	id := func(letter string) string {
		var b strings.Builder
		b.WriteString(letter)
		for range 8 + rng.IntN(3) {
			b.WriteByte("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[rng.IntN(36)])
		}
		return b.String()
	}
	stampAt := func(sec int) string { return fmt.Sprintf("%d.%06d", 1700000000+sec, rng.IntN(1e6)) }
	teams := []string{"T1"}
	if organisation {
		teams = []string{"T1", "T2"} // a channel of one workspace, and of another
	}
	var all []spot
	for _, team := range teams {
		for _, place := range []struct{ letter, kind string }{{"C", "channel"}, {"C", "group"}, {"G", "group"}, {"C", "mpim"}, {"G", "mpim"}, {"D", "im"}} {
			s := spot{team: team, channel: id(place.letter), kind: place.kind, ts: stampAt(rng.IntN(1000))}
			reply := s
			reply.root, reply.ts = s.ts, stampAt(2000+rng.IntN(1000))
			other := reply
			other.root, other.ts = stampAt(1000+rng.IntN(400)), stampAt(3000+rng.IntN(1000))
			all = append(all, s, reply, other)
			if place.kind == "im" {
				opener := s
				opener.assistant, opener.ts = true, stampAt(1500)
				inside := opener
				inside.root, inside.ts = opener.ts, stampAt(1600)
				all = append(all, opener, inside)
			}
		}
	}
	return all
}

func everyEntranceOneConversation(t *testing.T) {
	for seed := range uint64(6) {
		for _, organisation := range []bool{false, true} {
			for _, mode := range []ReplyTo{ReplyOff, ReplyFirst, ReplyAll} {
				a := keyed(t, mode, organisation)
				all := spots(rand.New(rand.NewPCG(seed, 1)), organisation)
				for _, s := range all {
					a.kinds.note(s.channel, a.kinds.of(s.channel, s.kind))
				}
				for _, s := range all {
					first := s.tell(func(ev, _ map[string]any) {})
					want := a.thread(first, first.subject())
					inbox := a.inboxKey(first, first.subject())
					for name, p := range s.tellings() {
						if got := a.thread(p, p.subject()); got.Key() != want.Key() || got.Kind != want.Kind || a.inboxKey(p, p.subject()) != inbox {
							t.Errorf("%s, %s: %+v leads to %s, %s; want %s", mode, name, s, got.Key(), a.inboxKey(p, p.subject()), want.Key())
						}
					}
					for name, p := range s.changes() {
						if got := a.inboxKey(p, p.subject()); got != inbox {
							t.Errorf("%s, %s: %+v is %s, want %s", mode, name, s, got, inbox)
						}
					}
					for name, got := range s.acts(t, a, want) {
						if got.Key() != want.Key() {
							t.Errorf("%s, %s: %+v leads to %s, want %s", mode, name, s, got.Key(), want.Key())
						}
					}
				}
			}
		}
	}
}

func openersAndReplies(t *testing.T) {
	for seed := range uint64(6) {
		for _, organisation := range []bool{false, true} {
			for _, mode := range []ReplyTo{ReplyOff, ReplyFirst, ReplyAll} {
				a := keyed(t, mode, organisation)
				all := spots(rand.New(rand.NewPCG(seed, 2)), organisation)
				owner := map[string]string{} // of a key: place and thread
				inboxes := map[string]bool{}
				for _, s := range all {
					p := s.tell(func(ev, _ map[string]any) {})
					th := a.thread(p, p.subject())
					key, root := th.Key(), s.root
					threaded := s.kind == "im" && s.assistant || s.kind != "im" && mode != ReplyOff
					if s.opener() && threaded {
						root = s.ts // its replies have this
					}
					who := s.team + " " + s.channel + " " + root
					if before, known := owner[key]; known && before != who {
						t.Errorf("%s: %s is the key of %q and %q", mode, key, before, who)
					}
					owner[key] = who
					if th.Root != root || strings.HasSuffix(key, ":t:"+s.ts) && s.root != "" {
						t.Errorf("%s: %+v is in the thread %q, %s", mode, s, th.Root, key)
					}
					if want := "slack:main:" + s.team + ":" + s.channel; !strings.HasPrefix(key, want) || root != "" && key != want+":t:"+root {
						t.Errorf("%s: %+v has the key %s", mode, s, key)
					}
					inbox := a.inboxKey(p, p.subject())
					if inboxes[inbox] {
						t.Errorf("%+v is taken for another message: %s", s, inbox)
					}
					inboxes[inbox] = true
				}
				if values := slices.Collect(maps.Values(owner)); len(values) != len(slices.Compact(slices.Sorted(slices.Values(values)))) {
					t.Errorf("%s: a thread has two keys: %v", mode, owner)
				}
			}
		}
	}
}

// threadsOfDirectMessages: what is said in a thread of a direct message is of
// that thread, and in the assistant view everything is, also what opens one.
func threadsOfDirectMessages(t *testing.T) {
	for _, mode := range []ReplyTo{ReplyOff, ReplyFirst, ReplyAll} {
		a := keyed(t, mode, false)
		plain := spot{team: "T1", channel: "D1", kind: "im", ts: stampOne}
		inside := spot{team: "T1", channel: "D1", kind: "im", ts: stampTwo, root: stampOne}
		opener := spot{team: "T1", channel: "D1", kind: "im", ts: stampOne, assistant: true}
		for s, want := range map[spot]string{plain: "slack:main:T1:D1", inside: "slack:main:T1:D1:t:" + stampOne, opener: "slack:main:T1:D1:t:" + stampOne} {
			p := s.tell(func(ev, _ map[string]any) {})
			if th := a.thread(p, p.subject()); th.Key() != want || th.Kind != core.KindDirect {
				t.Errorf("%s: %+v is in %+v", mode, s, th)
			}
		}
		// Its own timestamp as that of its thread says the same as a token.
		p := plain.tell(func(ev, _ map[string]any) { ev["thread_ts"] = stampOne })
		if th := a.thread(p, p.subject()); th.Root != stampOne {
			t.Errorf("%s: the opener of a thread is in %+v", mode, th)
		}
	}
}
