package llm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Money is an amount in billionths of a US dollar, so that even one token of a
// cheap model is a whole number and sums are exact.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1e9

// Dollars is an amount of US dollars, to the nearest billionth.
func Dollars(usd float64) Money { return Money(math.Round(usd * float64(Dollar))) }

// USD is the amount in US dollars.
func (m Money) USD() float64 { return float64(m) / float64(Dollar) }

// String is the amount for people: whole cents from one cent on, below that as
// many digits as it takes to show something.
func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	switch {
	case m == 0, m >= Dollar/100:
		return sign + "$" + grouped(fmt.Sprintf("%.2f", m.USD()))
	case m >= Dollar/10_000:
		return sign + fmt.Sprintf("$%.4f", m.USD())
	}
	return sign + "$" + strconv.FormatFloat(m.USD(), 'f', -1, 64)
}

// grouped puts commas between the thousands of a number.
func grouped(number string) string {
	whole, rest, _ := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}

// Count is a number for people, with commas between the thousands.
func Count(n int) string {
	if n < 0 {
		return "-" + Count(-n)
	}
	return grouped(strconv.Itoa(n))
}

// Price is what a model costs, in US dollars per million tokens. Reasoning is
// output. A part of the prompt that a cache held or took costs as Input does
// where it has no price of its own.
type Price struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cacheRead,omitempty"`
	CacheWrite *float64 `json:"cacheWrite,omitempty"`
}

// Cost is the price of what one call used, to the nearest billionth of a dollar.
func (p Price) Cost(u Usage) Money {
	read, write := p.Input, p.Input
	if p.CacheRead != nil {
		read = *p.CacheRead
	}
	if p.CacheWrite != nil {
		write = *p.CacheWrite
	}
	plain := max(0, u.In-u.CacheRead-u.CacheWrite)
	millionths := float64(plain)*p.Input + float64(u.CacheRead)*read + float64(u.CacheWrite)*write + float64(u.Out)*p.Output
	return Money(math.Round(millionths * float64(Dollar) / 1e6))
}

// copied is the price with memory of its own.
func (p *Price) copied() *Price {
	if p == nil {
		return nil
	}
	c := *p
	for _, v := range []**float64{&c.CacheRead, &c.CacheWrite} {
		if *v != nil {
			n := **v
			*v = &n
		}
	}
	return &c
}
