package core

import (
	"encoding/json"
	"log/slog"
)

// Secret is a credential. It prints as a placeholder through fmt, slog, JSON
// and text encoders; only Reveal gives the value. The value stands behind a
// pointer, so that it does not show either where fmt cannot call methods, in an
// unexported field; two secrets are therefore equal only if one is a copy of
// the other.
type Secret struct{ value *string }

// NewSecret wraps a credential.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{&value}
}

const placeholder = "[secret]"

// Reveal is the value itself. Call it where the value goes on the wire, and
// nowhere else.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Set reports whether there is a value.
func (s Secret) Set() bool { return s.value != nil }

// String is a placeholder, or "" for an unset secret.
func (s Secret) String() string {
	if !s.Set() {
		return ""
	}
	return placeholder
}

// GoString is the placeholder for %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue is the placeholder for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is the placeholder for encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON is the placeholder for JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// Decode reads a secret from an environment variable (envconfig's interface).
func (s *Secret) Decode(value string) error {
	*s = NewSecret(value)
	return nil
}
