package llm

import (
	"net/http"
	"testing"
	"time"
)

// BenchmarkClassify measures typical answers, each with the headers that such an
// answer has.
func BenchmarkClassify(b *testing.B) {
	h := http.Header{}
	for _, name := range []string{"Content-Type", "Date", "Server", "Cf-Ray", "X-Request-Id", "Retry-After", "X-Ratelimit-Limit-Requests",
		"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests", "Alt-Svc", "Strict-Transport-Security", "Via"} {
		h.Set(name, "17")
	}
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for _, p := range payloads(b) {
		switch p.ID {
		case "c041", "c030", "c095", "c053", "c036", "c098", "c101", "c072", "c046", "c126", "c144":
			f := p.failure(now)
			f.Header = h
			b.Run(p.ID+"-"+string(p.Expected), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Classify(f)
				}
			})
		}
	}
}
