package auth_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"understudy/core"
	"understudy/core/auth"
	"understudy/core/failover"
	"understudy/core/llm"
)

const secret = "sk-very-secret-0123456789"

func yes(string) bool { return true }
func no(string) bool  { return false }

// shop makes books whose clients remember what they were made of.
type shop struct {
	mu   sync.Mutex
	made []string // "a:env with sk-…"
	err  error
}

func (s *shop) book(c auth.Config) *auth.Book {
	if c.Known == nil {
		c.Known = yes
	}
	if c.Keyless == nil {
		c.Keyless = no
	}
	c.Client = func(p auth.Declared, key core.Secret) (llm.Client, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.made = append(s.made, p.ID+" with "+key.Reveal())
		return client{p.ID}, s.err
	}
	return auth.New(c)
}

type client struct{ id string }

func (client) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(func(llm.Event, error) bool) {}
}

func keys(values ...string) []core.Secret {
	var list []core.Secret
	for _, v := range values {
		list = append(list, core.NewSecret(v))
	}
	return list
}

func declared(list ...string) []auth.Declared {
	var out []auth.Declared
	for _, id := range list {
		out = append(out, auth.Declared{ID: id, Provider: failover.ProviderOf(id), Type: failover.Token})
	}
	return out
}

// Which profiles of a provider there are, and in which order.
func TestProfiles(t *testing.T) {
	for _, c := range []struct {
		name    string
		c       auth.Config
		want    string
		ordered bool
		missing string
	}{
		{"nothing", auth.Config{}, "", false, ""},
		{"one key", auth.Config{Keys: map[string][]core.Secret{"a": keys("k1"), "b": keys("k9")}}, "a:env", false, ""},
		{"three keys keep their order", auth.Config{Keys: map[string][]core.Secret{"a": keys("k1", "k2", "k3")}}, "a:env a:env-2 a:env-3", false, ""},
		{"no key is needed", auth.Config{Keyless: yes}, "a:default", false, ""},
		{"a key, although none is needed", auth.Config{Keyless: yes, Keys: map[string][]core.Secret{"a": keys("k1")}}, "a:env", false, ""},
		{"declared ones count alone, as they were written", auth.Config{
			Keys:     map[string][]core.Secret{"a": keys("k1", "k2", "k3")},
			Declared: declared("a:env-3", "b:env", "a:env"),
		}, "a:env-3(token) a:env(token)", false, "b:env"},
		{"declared without a secret", auth.Config{
			Keys:     map[string][]core.Secret{"a": keys("k1")},
			Declared: declared("a:gone", "a:env"),
		}, "a:env(token)", false, "a:gone"},
		{"only declared ones without a secret", auth.Config{
			Keys: map[string][]core.Secret{"a": keys("k1")}, Declared: declared("a:gone"),
		}, "a:env", false, "a:gone"},
		{"declared ones that need no secret", auth.Config{Bare: yes, Declared: declared("a:two", "a:one")}, "a:two(token) a:one(token)", false, ""},
		{"the order counts exactly", auth.Config{
			Keys:     map[string][]core.Secret{"a": keys("k1", "k2", "k3")},
			Declared: declared("a:env", "a:env-2"),
			Order:    map[string][]string{"a": {"a:env-3", "a:env"}},
		}, "a:env-3 a:env(token)", true, ""},
		{"an order with a profile that is missing", auth.Config{
			Keys:  map[string][]core.Secret{"a": keys("k1")},
			Order: map[string][]string{"a": {"a:gone", "a:env"}},
		}, "a:env", true, "a:gone"},
		{"an empty order shuts a provider out", auth.Config{
			Keys: map[string][]core.Secret{"a": keys("k1")}, Order: map[string][]string{"a": {}},
		}, "", true, ""},
		{"another provider's order", auth.Config{
			Keys: map[string][]core.Secret{"a": keys("k1")}, Order: map[string][]string{"b": {"b:gone"}},
		}, "a:env", false, "b:gone"},
	} {
		b := new(shop).book(c.c)
		ps, err := b.Profiles(t.Context(), "main", "a")
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, p := range ps.List {
			id := p.ID
			if p.Type != failover.APIKey {
				id += "(" + string(p.Type) + ")"
			}
			if p.Provider != "a" {
				t.Errorf("%s: %s belongs to %q", c.name, p.ID, p.Provider)
			}
			list = append(list, id)
		}
		if got := strings.Join(list, " "); got != c.want || ps.Ordered != c.ordered || !ps.Known {
			t.Errorf("%s: %q (ordered %v, known %v), want %q (ordered %v)", c.name, got, ps.Ordered, ps.Known, c.want, c.ordered)
		}
		if got := strings.Join(b.Missing(), " "); got != c.missing {
			t.Errorf("%s: missing %q, want %q", c.name, got, c.missing)
		}
	}
}

func TestUnknownProvider(t *testing.T) {
	b := new(shop).book(auth.Config{Known: no, Keyless: yes, Keys: map[string][]core.Secret{"a": keys("k1")}})
	if ps, err := b.List("main", "a"); err != nil || ps.Known || len(ps.List) > 0 {
		t.Fatalf("%+v, %v", ps, err)
	}
}

// Each profile has one client, made of its own key when it is first needed.
func TestClients(t *testing.T) {
	s := &shop{}
	b := s.book(auth.Config{Keys: map[string][]core.Secret{"a": keys("k1", "k2")}})
	ps, err := b.Profiles(t.Context(), "main", "a")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.made) > 0 {
		t.Fatalf("made before it was needed: %q", s.made)
	}
	var all sync.WaitGroup
	for range 10 {
		for _, p := range ps.List {
			all.Go(func() {
				if c, err := p.Client(t.Context()); err != nil || c != llm.Client(client{p.ID}) {
					t.Errorf("%s got %v, %v", p.ID, c, err)
				}
			})
		}
	}
	all.Wait()
	slices.Sort(s.made)
	if got := strings.Join(s.made, ", "); got != "a:env with k1, a:env-2 with k2" {
		t.Fatalf("made %s", got)
	}
}

// A client that cannot be made is made anew the next time, and the error names
// its profile.
func TestClientThatCannotBeMade(t *testing.T) {
	s := &shop{err: errors.New("no such base URL")}
	b := s.book(auth.Config{Keys: map[string][]core.Secret{"a": keys(secret)}})
	ps, err := b.Profiles(t.Context(), "main", "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ps.List[0].Client(t.Context()); !errors.Is(err, s.err) || !strings.Contains(err.Error(), "a:env") || strings.Contains(err.Error(), secret) {
		t.Fatalf("err %v", err)
	}
	s.err = nil
	if c, err := ps.List[0].Client(t.Context()); err != nil || c == nil {
		t.Fatalf("%v, %v", c, err)
	}
}

// However it is printed, nothing that this room hands out shows a secret.
func TestNothingShowsASecret(t *testing.T) {
	config := auth.Config{Keys: map[string][]core.Secret{"a": keys(secret)}, Declared: declared("a:env")}
	b := new(shop).book(config)
	ps, err := b.Profiles(t.Context(), "main", "a")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "book", b, "profiles", fmt.Sprint(ps), "keys", config.Keys)
	texts := []string{log.String()}
	for _, v := range []any{b, ps.List[0], ps, config, b.Missing()} {
		texts = append(texts, fmt.Sprintf("%v\n%+v\n%#v\n%s\n%q", v, v, v, v, v))
	}
	for _, text := range texts {
		if strings.Contains(text, secret) || strings.Contains(text, secret[3:14]) {
			t.Errorf("a secret shows:\n%s", text)
		}
	}
}

// A turn asks for the profiles of every provider of its chain before each
// request.
func TestProfilesAreMadeOnce(t *testing.T) {
	var s shop
	b := s.book(auth.Config{Keys: map[string][]core.Secret{"a": keys("one", "two")}})
	first, err := b.Profiles(t.Context(), "main", "a")
	if err != nil || len(first.List) != 2 {
		t.Fatal(first, err)
	}
	again, err := b.Profiles(t.Context(), "other", "a")
	if err != nil || &first.List[0] != &again.List[0] {
		t.Error("the list was made again")
	}
	if more := append(first.List, failover.Profile{}); &more[0] == &again.List[0] {
		t.Error("what one caller appends, another may see")
	}
}
