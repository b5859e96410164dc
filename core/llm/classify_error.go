package llm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// What an Error says beside its reason: scope, code and detail.

// readHeader takes what headers tell: when to come back, the error type of AWS,
// and the sign of an edge that wants to see a browser. What headers say comes
// before what the body says of the same kind.
func (ev *evidence) readHeader(h http.Header) {
	for name, values := range h {
		if len(values) == 0 || name == "" {
			continue
		}
		switch name[0] {
		case 'R', 'X', 'A', 'r', 'x', 'a':
			ev.hint(name, strings.TrimSpace(values[0]), true)
			if strings.EqualFold(name, "X-Amzn-Errortype") {
				ev.code(values[0])
			}
		case 'C', 'c':
			if strings.EqualFold(name, "Cf-Mitigated") && values[0] == "challenge" {
				ev.challenge = true
			}
		}
	}
}

// scope is how far a failure reaches. A rate limit holds for the model, unless
// the answer shows that it is the account's.
func (ev *evidence) scope(e *Error, now time.Time) Scope {
	switch e.Reason {
	case Auth, AuthPermanent, Billing:
		return ScopeProfile
	case Overloaded, Timeout, ModelNotFound:
		return ScopeModel
	case RateLimit:
		if ev.accountWide(e, now) {
			return ScopeProfile
		}
		return ScopeModel
	}
	return ScopeNone
}

// accountLimits are the vendor codes of limits that cover the whole account.
var accountLimits = map[string]bool{
	"usage_limit_reached": true, "subscription_sharing_usage_limit_exceeded": true, "usage_limit_exceeded": true,
	"enforced_spend_limit_reached": true, "contract_spend_limit_reached": true,
	"1308": true, "1310": true, "1313": true, "2056": true,
}

// longAnthropicWait tells a plan's window from the API's limits, which are
// counted by the minute.
const longAnthropicWait = time.Hour

func (ev *evidence) accountWide(e *Error, now time.Time) bool {
	switch {
	case accountLimits[ev.vendorCode], ev.has(sigTeamCap), ev.has(sigBroke), ev.has(sigSpendCap), ev.has(sigPlanQuota) && ev.family == familyOpenAI:
		return true
	case ev.hinted("anthropic-ratelimit-unified-status") == "rejected", ev.hinted("x-codex-active-limit") != "", ev.hinted("x-codex-primary-used-percent") == "100":
		return true
	case ev.family == familyAnthropic && e.ResetAt.Sub(now) > longAnthropicWait && !ev.has(sigThisModel):
		return true
	case ev.has(sigThisModel):
		return false
	}
	return ev.any(sigAccount, sigWindow)
}

// codeFor is the code to report: the one that decided, else the most telling.
func (ev *evidence) codeFor(v verdict) string {
	if ev.vendorCode != "" {
		return ev.vendorCode
	}
	if code, ok := strings.CutPrefix(v.evidence, "code "); ok {
		return code
	}
	return ev.best
}

// detail is the provider's own sentence: the first that is more than the
// wrapping of a gateway.
func (ev *evidence) detail(f Failure) string {
	best := ""
	for _, s := range ev.texts {
		if best == "" || isWrapping(best) {
			best = s
		}
	}
	if best == "" && f.Err != nil {
		best = f.Err.Error()
	}
	return oneLine(best)
}

func isWrapping(s string) bool {
	return len(s) < 32 && strings.HasPrefix(lower(s), textProviderFailed) || strings.HasSuffix(s, ":") || len(s) < 8
}

// transport handles a connection or a stream that broke.
func transport(f Failure) verdict {
	switch {
	case f.Cut:
		return verdict{reason: Timeout, evidence: "stream cut off"}
	case f.Err == nil:
		return verdict{}
	}
	var (
		netErr  net.Error
		opErr   *net.OpError
		dnsErr  *net.DNSError
		tlsErr  tls.RecordHeaderError
		alert   tls.AlertError
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		errno   syscall.Errno
	)
	broken := errors.Is(f.Err, context.DeadlineExceeded) || errors.Is(f.Err, context.Canceled) ||
		errors.Is(f.Err, io.EOF) || errors.Is(f.Err, io.ErrUnexpectedEOF) || errors.Is(f.Err, net.ErrClosed) ||
		errors.As(f.Err, &opErr) || errors.As(f.Err, &dnsErr) || errors.As(f.Err, &tlsErr) || errors.As(f.Err, &alert) ||
		errors.As(f.Err, &verify) || errors.As(f.Err, &unknown) || errors.As(f.Err, &host) || errors.As(f.Err, &errno) ||
		errors.As(f.Err, &netErr) && netErr.Timeout()
	if broken {
		return verdict{reason: Timeout, evidence: "connection"}
	}
	return verdict{}
}
