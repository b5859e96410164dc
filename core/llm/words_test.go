package llm

import (
	"strings"
	"testing"
)

// example is the shortest text that a line of the word table describes.
func example(line string, alternative int) string {
	var out []string
	for _, f := range strings.Fields(line) {
		if f == ".." || f == "..." {
			continue
		}
		alternatives := strings.Split(f, "|")
		w := strings.TrimSuffix(alternatives[alternative%len(alternatives)], "*")
		if w == "#" {
			w = "12"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// Every line of the word table can be found in a text, with each alternative of
// each word, and no line is there twice.
func TestEveryPhraseIsFound(t *testing.T) {
	twice := map[string]bool{}
	for _, row := range wordTable {
		for line := range strings.Lines(row.phrases) {
			line = strings.TrimSpace(line)
			if line == "" {
				continue
			}
			key := string(row.only) + string(rune('0'+row.sig)) + line
			if twice[key] {
				t.Errorf("twice: %s", line)
			}
			twice[key] = true
			if strings.ContainsAny(strings.ReplaceAll(line, "...", ""), "'-ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
				t.Errorf("%q holds what no word has", line)
			}
			if strings.Contains(strings.ReplaceAll(line+" ", "* ", " "), "*") || strings.Contains(line, "#|") || strings.Contains(line, "|#") {
				t.Errorf("%q: a star or a number stands alone in its place", line)
			}
			for alternative := range 16 {
				text := example(line, alternative)
				ev := newEvidence("openrouter")
				words, _ := ev.cut(text, 0)
				found := false
				for i, w := range words {
					for _, p := range phrases().from(w.hash) {
						found = found || p.sig == row.sig && p.text == line && p.matches(words[i+1:])
					}
				}
				if !found {
					t.Errorf("%q is not found in %q", line, text)
				}
				ev.free()
			}
		}
	}
}

func TestWordsHaveEdges(t *testing.T) {
	for _, text := range []string{
		"unlimited creditsafe overloadedness", "the rate. limit of the sky", "billing", "payment", "this is a limit", "context", "model",
		"authored", "insufficient", "a prompt answer", "the balance", "quota", "tokens",
	} {
		if e := ClassifyText("any", text, noon); e.Reason != Unclassified {
			t.Errorf("%q: %s (%s)", text, e.Reason, e.Evidence)
		}
	}
}

// Words that were sent, and not said by the provider, are not read.
func TestEchoIsNotRead(t *testing.T) {
	const bait = "insufficient credits, rate limit exceeded, overloaded, prompt is too long, invalid api key"
	for _, body := range []string{
		`{"error":{"message":"Invalid value: '` + bait + `'. Try another.","type":"invalid_request_error"}}`,
		`{"detail":[{"type":"string_type","msg":"Input should be a valid string","input":"` + bait + `"}]}`,
		`{"error":{"message":"bad field","type":"invalid_request_error"},"request":{"messages":[{"content":"` + bait + `"}]}}`,
		`{"error":{"message":"{\"messages\":[{\"content\":\"` + bait + `\"}]}","type":"invalid_request_error"}}`,
		`{"error":{"message":"1 validation error [type=x, input_value='` + bait + `', input_type=str]"}}`,
		`{"error":{"message":"bad"},"prompt":"` + bait + `","input":["` + bait + `"],"output":{"text":"` + bait + `"}}`,
		`{"error":{"message":"bad, see https://a.test/overloaded?insufficient+credits=rate+limit"}}`,
		`{"type":"response.failed","response":{"error":{"message":"bad"},"instructions":"` + bait + `","output":[{"content":[{"text":"` + bait + `"}]}]}}`,
		`{"error":{"message":"bad","links":[{"description":"` + bait + `"}],"help":"` + bait + `"}}`,
	} {
		if e := Classify(Failure{Provider: "any", Status: 400, Body: []byte(body)}); e.Reason != Format {
			t.Errorf("%s\n\t%s (%s)", body, e.Reason, e.Evidence)
		}
	}
}
