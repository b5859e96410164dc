package core

import "testing"

func TestBlank(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " \n\t": true, "\u200b": true, "\u200e\u200f\u202e\u2066": true, "\ufeff": true, "\u3164\u2800": true, "\u00ad\ufe0f": true,
		".": false, "\u200bx": false, "👩‍👩‍👧": false, "\u0301": false, "\xff": false,
	} {
		if Blank(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
