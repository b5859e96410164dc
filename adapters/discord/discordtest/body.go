package discordtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The platform's own limits of a message.
const (
	maxContent    = 2000 // characters
	maxNonce      = 25
	maxEmbeds     = 10
	maxEmbedsText = 6000 // characters of all embeds together
	maxFiles      = 10
)

// outgoingMessage is the body of a post, an edit or an interaction's answer.
type outgoingMessage struct {
	Content      *string
	Nonce        any
	EnforceNonce bool `json:"enforce_nonce"`
	Flags        int
	Components   *[]component
	Embeds       *[]embed
	Attachments  *[]attachment
	Mentions     *struct {
		Parse *[]string
	} `json:"allowed_mentions"`
	Reference *struct {
		MessageID string `json:"message_id"`
		ChannelID string `json:"channel_id"`
		FailMiss  *bool  `json:"fail_if_not_exists"`
	} `json:"message_reference"`

	// raw are the components and embeds as they came.
	raw struct {
		Components, Embeds json.RawMessage
	}
	files []upload
}

func (m *outgoingMessage) UnmarshalJSON(raw []byte) error {
	type plain outgoingMessage
	if err := json.Unmarshal(raw, (*plain)(m)); err != nil {
		return err
	}
	return json.Unmarshal(raw, &m.raw)
}

func (m outgoingMessage) text() string {
	if m.Content == nil {
		return ""
	}
	return strings.TrimSpace(*m.Content)
}

// nonce is the nonce as text; numbers are nonces too.
func (m outgoingMessage) nonce() string {
	if m.Nonce == nil {
		return ""
	}
	return fmt.Sprint(m.Nonce)
}

// empty reports whether there is nothing to show.
func (m outgoingMessage) empty() bool {
	return m.text() == "" && count(m.Embeds) == 0 && count(m.Components) == 0 && len(m.files) == 0
}

func count[T any](list *[]T) int {
	if list == nil {
		return 0
	}
	return len(*list)
}

// embed is the part of an embed that is limited.
type embed struct {
	Title, Description string
	Fields             []struct{ Name, Value string }
	Footer             struct{ Text string }
	Author             struct{ Name string }
}

// flagComponents marks a message that consists of components alone.
const flagComponents = 1 << 15

// check finds what the platform refuses in every kind of message.
func (s *Server) check(m outgoingMessage) *apiError {
	switch {
	case utf8.RuneCountInString(m.text()) > maxContent:
		return invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
	case len(m.nonce()) > maxNonce:
		return invalid("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.")
	case s.inert && m.text() != "" && (m.Mentions == nil || count(m.Mentions.Parse) > 0 || m.Mentions.Parse == nil):
		return invalid("allowed_mentions", "NOT_INERT", "The test wants every mention switched off.")
	case m.Flags&flagComponents != 0 && (m.text() != "" || count(m.Embeds) > 0):
		return invalid("flags", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "The content and embeds fields cannot be used with components of the second version.")
	}
	if e := checkEmbeds(m.Embeds); e != nil {
		return e
	}
	if e := s.checkFiles(m); e != nil {
		return e
	}
	if m.Components == nil {
		return nil
	}
	return checkComponents(*m.Components, m.Flags&flagComponents != 0)
}

func checkEmbeds(all *[]embed) *apiError {
	if count(all) > maxEmbeds {
		return invalid("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
	}
	if all == nil {
		return nil
	}
	total := 0
	for i, e := range *all {
		path := fmt.Sprintf("embeds.%d.", i)
		for _, part := range []struct {
			field, text string
			most        int
		}{{"title", e.Title, 256}, {"description", e.Description, 4096}, {"footer.text", e.Footer.Text, 2048}, {"author.name", e.Author.Name, 256}} {
			n := utf8.RuneCountInString(part.text)
			if n > part.most {
				return invalid(path+part.field, "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", part.most))
			}
			total += n
		}
		if len(e.Fields) > 25 {
			return invalid(path+"fields", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
		}
		for k, f := range e.Fields {
			if !between(f.Name, 1, 256) || !between(f.Value, 1, 1024) {
				return invalid(fmt.Sprintf("%sfields.%d.value", path, k), "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 1024 in length.")
			}
			total += utf8.RuneCountInString(f.Name + f.Value)
		}
	}
	if total > maxEmbedsText {
		return invalid("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000")
	}
	return nil
}

func between(s string, low, high int) bool {
	n := utf8.RuneCountInString(s)
	return n >= low && n <= high
}

// message reads the body of a request that sends or edits a message.
func (c *call) message() (outgoingMessage, *apiError) {
	var out outgoingMessage
	e := c.decode(&out)
	out.files = c.files
	return out, e
}

// upload is a file that came with a request: files[n] of the form.
type upload struct {
	number     string
	name, kind string
	data       []byte
}

var filePart = regexp.MustCompile(`^files?\[?(\d*)\]?$`)

// unpack splits a multipart body into its JSON and its files. A body of another
// kind is all JSON.
func unpack(r *http.Request, body []byte) (payload []byte, files []upload) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		return body, nil
	}
	payload = []byte("{}")
	form := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := form.NextPart()
		if err != nil {
			return payload, files
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, nil // cut short, which is no JSON either
		}
		if part.FormName() == "payload_json" {
			payload = data
		} else if m := filePart.FindStringSubmatch(part.FormName()); m != nil {
			kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
			files = append(files, upload{m[1], part.FileName(), kind, data})
		}
	}
}
