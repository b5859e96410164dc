package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"understudy/core/llm"
)

// Fault is an order to fail: the next Count requests to Target do.
type Fault struct {
	// Target is a model ref, or a provider for all of its models.
	Target string
	// Kind is one of [Kinds], or an HTTP status.
	Kind string
	// Count is how many requests fail; 0 stands for 1.
	Count int
	// RetryAfter, when set, is stated by the failing answers. It is sent in
	// whole seconds, rounded up.
	RetryAfter time.Duration
}

// MaxFaults is the most requests that one order makes fail.
const MaxFaults = 1_000_000

// pendingFault is an order with what is left of it.
type pendingFault struct {
	target string
	answer Answer
	left   int
}

// ParseFault reads an order in either of its two forms, of which the last two
// fields may be left out:
//
//	script/lead=rate_limit:3:90s
//	script/lead rate_limit 3 90s
func ParseFault(text string) (Fault, error) {
	fields := strings.Fields(text)
	if len(fields) == 1 {
		if i := strings.LastIndexByte(text, '='); i >= 0 {
			fields = append([]string{text[:i]}, strings.Split(text[i+1:], ":")...)
		}
	}
	if len(fields) < 2 || len(fields) > 4 {
		return Fault{}, fmt.Errorf("%q is no failure to play; write target=kind:count, for example script/lead=overloaded:1", text)
	}
	f := Fault{Target: strings.TrimSpace(fields[0]), Kind: fields[1]}
	if len(fields) > 2 {
		n, err := strconv.Atoi(fields[2])
		if err != nil || n < 1 || n > MaxFaults {
			return Fault{}, fmt.Errorf("%q: the count is %q; write a number from 1 to %d", text, fields[2], MaxFaults)
		}
		f.Count = n
	}
	if len(fields) > 3 {
		d, err := time.ParseDuration(fields[3])
		if err != nil || d <= 0 {
			return Fault{}, fmt.Errorf("%q: the time to wait is %q; write a duration such as 90s", text, fields[3])
		}
		f.RetryAfter = d
	}
	if _, err := f.pending(); err != nil {
		return Fault{}, err
	}
	return f, nil
}

// Fail lets the next requests to a target fail. A new order for the same
// target takes the place of the old one; the kind "ok" takes back what is left
// for the target, and for the models of a provider.
func (s *Script) Fail(f Fault) error {
	p, err := f.pending()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.DeleteFunc(s.faults, func(old *pendingFault) bool {
		return old.target == p.target || f.Kind == KindOK && strings.HasPrefix(old.target, p.target+"/")
	})
	if f.Kind != KindOK {
		s.faults = append(s.faults, p)
	}
	return nil
}

// pending checks the order and makes the answer that it stands for.
func (f Fault) pending() (*pendingFault, error) {
	p := &pendingFault{left: max(f.Count, 1)}
	var provider string
	if ref, ok := llm.ParseRef(f.Target); ok {
		provider, p.target = ref.Provider, ref.String()
	} else if ref, ok := llm.ParseRef(f.Target + "/x"); ok && ref.Model == "x" {
		provider, p.target = ref.Provider, ref.Provider
	} else {
		return nil, fmt.Errorf("%q is neither a model nor a provider; write provider/model or provider", f.Target)
	}
	text, ok := faultText(provider, f.Kind)
	if !ok {
		return nil, fmt.Errorf("%q is no kind of failure; there are %s, and every HTTP status", f.Kind, strings.Join(Kinds(), ", "))
	}
	a, err := ParseAnswer(text)
	if err != nil {
		return nil, err
	}
	if last := &a.steps[len(a.steps)-1]; f.RetryAfter > 0 && last.kind == stepStatus {
		seconds := (f.RetryAfter + time.Second - 1) / time.Second
		last.header = last.header.Clone()
		if last.header == nil {
			last.header = make(map[string][]string)
		}
		last.header.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	p.answer = a
	return p, nil
}

// fault uses up one failure that was ordered for the model or its provider.
// s.mu is held.
func (s *Script) fault(ref llm.Ref) (Answer, bool) {
	for _, target := range []string{ref.String(), ref.Provider} {
		i := slices.IndexFunc(s.faults, func(p *pendingFault) bool { return p.target == target })
		if i < 0 {
			continue
		}
		p := s.faults[i]
		if p.left--; p.left == 0 {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return p.answer, true
	}
	return Answer{}, false
}
