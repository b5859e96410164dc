package script

import (
	"fmt"
	"strings"

	"understudy/core/llm"
)

// maxEcho is the most of a message that [Echo] repeats, in bytes.
const maxEcho = 200

// Echo is a Default for people: it says what it heard, which model it plays,
// and how to make it fail. The same conversation always gets the same answer.
func Echo(ref llm.Ref, r llm.Request) Answer {
	said, images, turn := lastUser(r)
	heard := "You said: “" + cut(said, maxEcho) + "”."
	if said == "" {
		heard = "You said nothing that I can read."
	}
	if images > 0 {
		heard += fmt.Sprintf(" I also got %s.", count(images, "picture"))
	}
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == llm.ToolRole {
		heard = "The tool answered: “" + cut(results(r.Messages[n-1]), maxEcho) + "”."
	}
	if turn > 1 {
		return Text(fmt.Sprintf("%s This is message %d of our talk; %s is answering.", heard, turn, ref))
	}
	return Text(fmt.Sprintf("%s I am %s, a scripted model: no network, no key, always the same answers. "+
		"To see me replaced, type “:fail %s overloaded 3” or “:fail %s rate_limit 1 90s” and write again; "+
		"“:fail %s ok” heals me.", heard, ref, ref, ref, ref))
}

// lastUser is the text and the number of pictures of the user's last message,
// and how many messages the user has sent.
func lastUser(r llm.Request) (text string, images, turn int) {
	for _, m := range r.Messages {
		if m.Role != llm.User {
			continue
		}
		turn++
		text, images = strings.Join(strings.Fields(m.Text()), " "), 0
		for _, p := range m.Parts {
			if p.Image != nil {
				images++
			}
		}
	}
	return text, images, turn
}

func results(m llm.Message) string {
	var all []string
	for _, p := range m.Parts {
		if p.Result != nil {
			all = append(all, strings.Join(strings.Fields(p.Result.Text), " "))
		}
	}
	return strings.Join(all, "; ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
