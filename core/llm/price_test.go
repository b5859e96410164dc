package llm

import "testing"

func TestCost(t *testing.T) {
	sonnet, ok := Lookup(Ref{"anthropic", "claude-sonnet-4-5-20250929"})
	if !ok || sonnet.Price == nil {
		t.Fatal("the catalogue has no price of claude-sonnet-4-5")
	}
	mini, _ := Lookup(Ref{"openai", "gpt-4o-mini"})
	free := Price{}
	for _, c := range []struct {
		name  string
		price Price
		usage Usage
		want  Money
	}{
		{"in and out", *sonnet.Price, Usage{In: 1_000_000, Out: 1_000_000}, 18 * Dollar},
		{"cached parts are parts of the prompt", *sonnet.Price, Usage{In: 1_000_000, CacheRead: 600_000, CacheWrite: 100_000}, Dollars(0.9 + 0.18 + 0.375)},
		{"reasoning is output already", *sonnet.Price, Usage{Out: 100, Reasoning: 90}, Dollars(0.0015)},
		{"writing costs as input where nothing else is said", *mini.Price, Usage{In: 2_000_000, CacheWrite: 1_000_000}, Dollars(0.30)},
		{"one token", *mini.Price, Usage{In: 1}, 150},
		{"more cached than there was", *sonnet.Price, Usage{In: 10, CacheRead: 1_000_000}, Dollars(0.30)},
		{"free", free, Usage{In: 5, Out: 5}, 0},
	} {
		if got := c.price.Cost(c.usage); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestMoneyForPeople(t *testing.T) {
	for m, want := range map[Money]string{
		0: "$0.00", Dollar: "$1.00", 1234567 * Dollar: "$1,234,567.00", Dollars(0.01): "$0.01", Dollars(0.999): "$1.00",
		Dollars(0.0045): "$0.0045", 150: "$0.00000015", -Dollar: "-$1.00",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(m), got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// A price is dear enough to be true, and what a cache holds is never dearer
// than what it does not.
func TestPricesAreSane(t *testing.T) {
	priced := 0
	for provider, models := range catalog() {
		for name, m := range models {
			p := m.Price
			if p == nil {
				continue
			}
			priced++
			if p.Input <= 0 || p.Output < p.Input || p.Output > 1000 ||
				p.CacheRead != nil && (*p.CacheRead <= 0 || *p.CacheRead > p.Input) || p.CacheWrite != nil && *p.CacheWrite < p.Input {
				t.Errorf("%s/%s: %+v", provider, name, *p)
			}
		}
	}
	if priced < 40 {
		t.Errorf("only %d models have a price", priced)
	}
	if m, ok := Lookup(Ref{"openrouter", "openai/gpt-4o:online"}); !ok || m.Price != nil {
		t.Errorf("a variant has the price of the plain model: %v", m.Price)
	}
	m, _ := Lookup(Ref{"openai", "gpt-5"})
	*m.Price.CacheRead = 99
	m.Price.Input = 99
	if again, _ := Lookup(Ref{"openai", "gpt-5"}); again.Price.Input == 99 || *again.Price.CacheRead == 99 {
		t.Error("the catalogue was changed through an answer")
	}
}
