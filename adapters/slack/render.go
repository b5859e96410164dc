package slack

import (
	"errors"
	"regexp"
	"strings"
	"unicode"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

// Slack's limits for one text object in a section or context block
// (docs.slack.dev, Block Kit).
const maxTextObject = 3000

// content is a text in the two forms that Slack shows: the text in its own
// markup, for notifications and old clients, and blocks for everyone else. The
// text is always whole. Without blocks it is the text that is shown.
type content struct {
	markdown string // what both were made of
	text     string
	blocks   []slackgo.Block
}

// options say the content, to a post and to an edit alike. Blocks are always
// named, so that an edit removes those of before. "parse" is named because an
// edit would otherwise link names that the post did not.
func (c content) options() []slackgo.MsgOption {
	return []slackgo.MsgOption{slackgo.MsgOptionText(c.text, false), slackgo.MsgOptionParse(false), slackgo.MsgOptionBlocks(c.blocks...)}
}

// with adds a block. Slack shows the text no more once there are blocks, so it
// becomes one too.
func (c content) with(b slackgo.Block) content {
	if b == nil {
		return c
	}
	if c.blocks == nil {
		c.blocks = sections(c.markdown)
	}
	c.blocks = append(c.blocks, b)
	return c
}

// sections are Markdown as blocks in Slack's markup. It is split before it is
// converted: a cut through an escape or a link would show.
func sections(markdown string) []slackgo.Block {
	var blocks []slackgo.Block
	for _, part := range core.Split(markdown, core.Limits{MaxText: maxTextObject, Count: count}) {
		if text := shown(part, maxTextObject); !blank(text) {
			blocks = append(blocks, slackgo.NewSectionBlock(markup(text), nil, nil))
		}
	}
	return blocks
}

// shown is Markdown in Slack's markup, or without any where that made it too
// long, as the padding of a table does: what is counted is the text without.
func shown(markdown string, most int) string {
	if text := mrkdwn(markdown); units(text) <= most {
		return text
	}
	return escape.Replace(markdown)
}

// renderPost is render for a post with what stands under its text.
func renderPost(p core.Post) (content, *core.SendError) {
	c, bad := render(p.Kind, p.Text)
	for _, b := range buttonBlocks(p.Buttons) {
		c = c.with(b)
	}
	return c, bad
}

// render makes Slack's content of Markdown. It is the only place where text for
// Slack is made. What does not fit is refused before Slack sees it.
func render(kind core.PostKind, markdown string) (content, *core.SendError) {
	switch {
	case blank(markdown):
		return content{}, &core.SendError{Permanent: true, Err: errors.New("there is no text to post")}
	case count(markdown) > maxText:
		return content{}, &core.SendError{TooLong: true, Err: errors.New("the text is longer than one post holds")}
	}
	c := content{markdown: markdown, text: shown(markdown, maxText)}
	switch {
	case kind == core.PostNotice || kind == core.PostStatus:
		if units(c.text) <= maxTextObject { // else it is no small print
			c.blocks = []slackgo.Block{slackgo.NewContextBlock("", markup(c.text))}
		}
	case !risky(markdown):
		c.blocks = []slackgo.Block{slackgo.NewMarkdownBlock("", markdown)}
	}
	return c, nil
}

// markup is a text object in Slack's markup, in which nothing is linked that
// is not written as a link.
func markup(text string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.MarkdownType, text, false, true)
}

// risky reports whether Markdown holds what Slack may read as something else
// than it says: a mention, or a tag of HTML, which may not be shown at all. Such
// text is converted, with everything escaped, and neither goes into a markdown
// block nor into a stream.
func risky(markdown string) bool {
	if !strings.Contains(markdown, "<") {
		return false
	}
	if rings(markdown) {
		return true
	}
	for _, tag := range htmlTag.FindAllString(prose(markdown), -1) {
		if !autolink.MatchString(tag) {
			return true
		}
	}
	return false
}

var htmlTag = regexp.MustCompile(`<[/?]?[a-zA-Z][^<>\n]*>`)

// prose is Markdown without its code.
func prose(markdown string) string {
	lines := strings.Split(markdown, "\n")
	var out strings.Builder
	for i := 0; i < len(lines); i++ {
		if f := fenceOpen.FindStringSubmatch(lines[i]); f != nil {
			i += fenceEnd(lines[i+1:], f[1]) + 1
			continue
		}
		for rest := lines[i]; rest != ""; {
			n := strings.IndexByte(rest, '`')
			if n < 0 {
				n = len(rest)
			}
			out.WriteString(rest[:n])
			rest = rest[n:]
			rest = rest[skipCode(rest):]
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// rings reports whether Markdown holds what Slack may read as a mention. A
// markdown block is not given such text, since nothing in it can be escaped:
// in code an escape would show.
func rings(markdown string) bool {
	return strings.Contains(markdown, "<@") || strings.Contains(markdown, "<!") || strings.Contains(markdown, "<#")
}

// blank reports whether a text shows nothing. Slack refuses one.
func blank(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }) < 0
}

// escape writes the three characters that Slack's markup is made of as text.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// count measures text as Slack will count it once it is escaped. Slack does not
// say what its characters are; UTF-16 units are never fewer than code points.
func count(text string) int {
	n := units(text)
	for i := range len(text) {
		switch text[i] {
		case '&':
			n += len("&amp;") - 1
		case '<', '>':
			n += len("&lt;") - 1
		}
	}
	return n
}

// units is the length of a text in UTF-16.
func units(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
