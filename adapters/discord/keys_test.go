package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"understudy/core"
)

// recorder keeps where everything that it is given was said, by its id.
type recorder struct {
	deaf
	mu sync.Mutex
	at map[string]core.Thread
}

func (r *recorder) note(id string, t core.Thread) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[id] = t
}

func (r *recorder) Message(_ context.Context, m core.Message) error {
	r.note(m.ID, m.Thread())
	return nil
}

func (r *recorder) Command(_ context.Context, i core.Invocation) (core.Reply, error) {
	r.note(i.ID, i.Target.Thread)
	return core.Reply{Text: "ok"}, nil
}

func (r *recorder) Complete(_ context.Context, i core.Invocation) ([]core.Choice, error) {
	r.note(i.ID, i.Target.Thread)
	return nil, nil
}

func (r *recorder) Press(_ context.Context, p core.Press) (core.Reply, error) {
	r.note(p.ID, p.Target.Thread)
	return core.Reply{Text: "ok"}, nil
}

// townsquare are places of every kind: channels, threads of them, posts of a
// forum, and those that belong to no guild.
var townsquare = map[string]object{
	"90":  {"id": "90", "type": 4},
	"100": {"id": "100", "type": typeText, "parent_id": "90"},
	"110": {"id": "110", "type": typeText},
	"105": {"id": "105", "type": typeAnnouncement},
	"120": {"id": "120", "type": typeVoice},
	"130": {"id": "130", "type": typeStage},
	"140": {"id": "140", "type": typeForum, "parent_id": "90"},
	"150": {"id": "150", "type": typeMedia},
	"500": {"id": "500", "type": typeThread, "parent_id": "100"},
	"510": {"id": "510", "type": typePrivate, "parent_id": "100"},
	"520": {"id": "520", "type": typeNewsThread, "parent_id": "105"},
	"530": {"id": "530", "type": typeThread, "parent_id": "120"},
	"540": {"id": "540", "type": typeThread, "parent_id": "140"},
	"550": {"id": "550", "type": typeThread, "parent_id": "150"},
	"600": {"id": "600", "type": typeDirect},
	"601": {"id": "601", "type": typeDirect},
	"610": {"id": "610", "type": typeGroup},
}

// inSquare are the places in which somebody can speak.
var inSquare = []string{"100", "105", "110", "120", "130", "500", "510", "520", "530", "540", "550", "600", "601", "610"}

// entrances are the ways in which something can be said in a place.
var entrances = []string{"message", "reply", "command", "completion", "menu"}

// saidIn is the event that something is said; told says whether the place comes
// with it.
func saidIn(place, entrance, id, author string, told bool) (name string, event object) {
	event = object{"id": id, "channel_id": place}
	kind := townsquare[place]["type"]
	user := object{"id": author, "username": "ann"}
	if kind != typeDirect && kind != typeGroup {
		event["guild_id"] = "900"
	}
	if entrance == "message" || entrance == "reply" {
		event["author"], event["content"] = user, "<@800> hi"
		if entrance == "reply" {
			event["type"], event["content"] = typeReply, "and?"
			event["referenced_message"] = object{"id": "1", "channel_id": place, "content": "ok", "author": object{"id": "800"}}
		}
		if told {
			event["channel_type"] = kind
		}
		return "MESSAGE_CREATE", event
	}
	event["token"], event["application_id"] = "t"+id, "801"
	if event["guild_id"] != nil {
		event["member"] = object{"user": user}
	} else {
		event["user"] = user
	}
	if told {
		event["channel"] = townsquare[place]
	}
	switch entrance {
	case "command":
		event["type"], event["data"] = askCommand, object{"name": "status"}
	case "completion":
		event["type"], event["data"] = askComplete, object{"name": "model", "options": []object{{"value": "x", "focused": true}}}
	case "menu":
		event["type"], event["data"] = askComponent, object{"custom_id": customID("tok", "", 0, 0), "values": []string{"1"}}
	}
	return "INTERACTION_CREATE", event
}

// visit runs an adapter on the square, whose gateway lists all channels and some
// of the threads; everything else it has to ask for.
func visit(t *rapid.T, auto bool, listed []string, do func(event func(name string, data object))) map[string]core.Thread {
	answers := scripted{func(q *http.Request) (int, string, http.Header) {
		id := q.URL.Path[strings.LastIndexByte(q.URL.Path, '/')+1:]
		if q.Method != http.MethodGet {
			return http.StatusNoContent, "", nil
		}
		if c := townsquare[id]; c != nil {
			raw, _ := json.Marshal(c)
			return http.StatusOK, string(raw), nil
		}
		return http.StatusOK, fmt.Sprintf(`{"id":%q,"type":11,"parent_id":"100","guild_id":"900"}`, id), nil // opened from a message
	}}
	a, err := New(Config{Account: "main", Token: core.NewSecret("x"), Allow: []string{"*"}, DM: DMOpen, NoAutoThread: !auto, Rate: 1 << 20,
		HTTP: &http.Client{Transport: answers}})
	if err != nil {
		t.Fatal(err)
	}
	a.identify("800", "801")
	all := &recorder{at: map[string]core.Thread{}}
	r := newRun(context.Background(), a, all)
	event := func(name string, data object) {
		raw, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		r.event(name, raw)
	}
	guild := object{"id": "900", "channels": []object{}, "threads": []object{}}
	for id, c := range townsquare {
		switch kind := c["type"]; {
		case kind == typeDirect || kind == typeGroup:
		case kind != typeThread && kind != typePrivate && kind != typeNewsThread:
			guild["channels"] = append(guild["channels"].([]object), c)
		case slices.Contains(listed, id):
			guild["threads"] = append(guild["threads"].([]object), c)
		}
	}
	event("GUILD_CREATE", guild)
	do(event)
	r.wait()
	return all.at
}

// However something is said in a place, it belongs to the session of the place;
// what is said in another place belongs to another one.
func TestP045(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		where := map[string]string{} // by id
		listed := rapid.SliceOf(rapid.SampledFrom([]string{"500", "510", "520", "530", "540", "550"})).Draw(t, "listed")
		at := visit(t, false, listed, func(event func(string, object)) {
			for n := range rapid.IntRange(2, 12).Draw(t, "times") {
				place, id := rapid.SampledFrom(inSquare).Draw(t, "place"), fmt.Sprint(1000+n)
				how := rapid.SampledFrom(entrances).Draw(t, "entrance")
				if how == "message" && (place == "540" || place == "550") && rapid.Bool().Draw(t, "first") {
					if id = place; where[id] != "" {
						continue
					}
				}
				where[id] = place
				event(saidIn(place, how, id, rapid.SampledFrom([]string{"700", "701"}).Draw(t, "author"), rapid.Bool().Draw(t, "told")))
			}
		})
		for a, from := range where {
			if _, heard := at[a]; !heard {
				t.Fatalf("%s in %s was not heard", a, from)
			}
			for b, other := range where {
				if (at[a].Key() == at[b].Key()) != (from == other) {
					t.Fatalf("%s in %s has the key %s, %s in %s has %s", a, from, at[a].Key(), b, other, at[b].Key())
				}
				if from == other && at[a] != at[b] {
					t.Fatalf("in %s there is %+v and %+v", from, at[a], at[b])
				}
			}
		}
	})
}

// What opens a thread belongs to the thread that is to be, however much is said
// before Discord tells of it; each opener has a thread of its own, and none that
// of its channel.
func TestKeysOfThreadsThatAreOpened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		where := map[string]string{} // the thread, by id of what was said
		at := visit(t, true, nil, func(event func(string, object)) {
			where["900001"] = "100"
			event(saidIn("100", "command", "900001", "700", true))
			for n := range rapid.IntRange(1, 4).Draw(t, "openers") {
				opener := fmt.Sprint(7000 + n)
				where[opener] = opener
				event(saidIn("100", "message", opener, "700", rapid.Bool().Draw(t, "told")))
				if rapid.Bool().Draw(t, "announced") {
					event("THREAD_CREATE", object{"id": opener, "type": typeThread, "parent_id": "100", "guild_id": "900"})
				}
				for m := range rapid.IntRange(0, 4).Draw(t, "replies") {
					id := fmt.Sprint(opener, m)
					where[id] = opener
					how := rapid.SampledFrom(entrances).Draw(t, "entrance")
					name, data := saidIn("500", how, id, rapid.SampledFrom([]string{"700", "701"}).Draw(t, "author"), false)
					data["channel_id"] = opener
					event(name, data)
				}
			}
		})
		for a, from := range where {
			for b, other := range where {
				if (at[a].Key() == at[b].Key()) != (from == other) || from == other && at[a] != at[b] {
					t.Fatalf("%s of thread %s is in %+v, %s of thread %s in %+v", a, from, at[a], b, other, at[b])
				}
			}
			if want := "discord:main:g:900:c:" + from; at[a].Key() != want {
				t.Fatalf("%s has the key %s, want %s", a, at[a].Key(), want)
			}
		}
	})
}
