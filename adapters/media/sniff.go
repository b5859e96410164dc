package media

import (
	"bytes"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"understudy/core"
)

// judge is the type of what was read, or why it cannot be used. served is the
// type that the server named.
func judge(a core.Attachment, data []byte, served string) (string, error) {
	stated := plainType(a.MIME)
	real := sniff(data, stated, strings.ToLower(path.Ext(a.Name)))
	text := strings.HasPrefix(real, "text/")
	switch {
	case text && page(data, served) && !saidPage(a, stated, data):
		return "", refusal(notePage)
	case real == "":
		return "", refusal(noteKind)
	case text && binary(stated):
		return "", refusal(noteOther)
	}
	return real, nil
}

// page reports whether a text is a web page, or was served as one.
func page(data []byte, served string) bool {
	switch plainType(served) {
	case "text/html", "application/xhtml+xml":
		return true
	}
	return html(data)
}

// saidPage reports whether the sender sent that very web page: a sign-in page
// in its place would have another size.
func saidPage(a core.Attachment, stated string, data []byte) bool {
	ext := strings.ToLower(path.Ext(a.Name))
	return (stated == "text/html" || ext == ".html" || ext == ".htm") && a.Size == int64(len(data))
}

// binary reports whether files of a type are no texts.
func binary(stated string) bool {
	kind, _, _ := strings.Cut(stated, "/")
	switch {
	case stated == "image/svg+xml":
		return false
	case stated == "application/pdf", kind == "image", kind == "audio", kind == "video":
		return true
	}
	return false
}

// plainType is a type without its parameters.
func plainType(s string) string {
	kind, _, err := mime.ParseMediaType(s)
	if err != nil {
		kind, _, _ = strings.Cut(s, ";")
	}
	return strings.ToLower(strings.TrimSpace(kind))
}

// magic are the first bytes of what needs no closer look.
var magic = []struct{ at, kind string }{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"%PDF-", "application/pdf"},
	{"ID3", "audio/mpeg"},
	{"fLaC", "audio/flac"},
	{"#!AMR", "audio/amr"},
}

// sniff is the type of data by what it holds, or "" if it is of no use. Stated
// and ext, the name's ending, only decide between the sound and the picture of
// containers that may hold either, and which text a text is.
func sniff(data []byte, stated, ext string) string {
	for _, m := range magic {
		if bytes.HasPrefix(data, []byte(m.at)) {
			return m.kind
		}
	}
	switch {
	case riff(data, "WEBP"):
		return "image/webp"
	case riff(data, "WAVE"):
		return "audio/wav"
	case len(data) > 1 && data[0] == 0xff && (data[1] == 0xf1 || data[1] == 0xf9):
		return "audio/aac"
	case frame(data):
		return "audio/mpeg"
	case len(data) >= 12 && string(data[4:8]) == "ftyp":
		return sound(ftyp(string(data[8:12])), stated, ext, "audio/mp4")
	case bytes.HasPrefix(data, []byte("OggS")):
		return sound(!bytes.Contains(data[:min(len(data), 64)], []byte("theora")), stated, ext, "audio/ogg")
	case bytes.HasPrefix(data, []byte("\x1a\x45\xdf\xa3")):
		return sound(false, stated, ext, "audio/webm")
	case len(data) > 0 && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return textType(stated)
	}
	return ""
}

func riff(data []byte, form string) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == form
}

// frame reports whether data begins with the frame of an MP3 without a tag:
// layer III, with a bit rate and a sample rate that exist.
func frame(data []byte) bool {
	return len(data) > 2 && data[0] == 0xff && data[1]&0xe6 == 0xe2 && data[1]&0x18 != 0x08 &&
		data[2]&0xf0 != 0xf0 && data[2]&0xf0 != 0 && data[2]&0x0c != 0x0c
}

// ftyp reports whether the brand of an MP4 file is one of sound alone.
func ftyp(brand string) bool { return brand == "M4A " || brand == "M4B " }

// sound is the type of a container if it holds sound: for sure, or as far as its
// type or name say.
func sound(sure bool, stated, ext, kind string) string {
	switch ext {
	case ".m4a", ".m4b", ".ogg", ".oga", ".opus", ".weba":
		sure = sure || !strings.HasPrefix(stated, "video/")
	}
	if sure || strings.HasPrefix(stated, "audio/") {
		return kind
	}
	return ""
}

// textType is the type of a text: the stated one if that is one.
func textType(stated string) string {
	if strings.HasPrefix(stated, "text/") {
		return stated
	}
	return "text/plain"
}

// pageStarts are how web pages begin.
var pageStarts = []string{"<!doctype html", "<html", "<head", "<body", "<title", "<meta"}

// html reports whether a text is a web page.
func html(data []byte) bool {
	head := strings.ToLower(string(data[:min(len(data), 4096)]))
	head = strings.TrimPrefix(head, "\ufeff")
	for {
		head = strings.TrimLeft(head, " \t\r\n\f")
		switch {
		case strings.HasPrefix(head, "<!--"):
			head = after(head, "-->")
		case strings.HasPrefix(head, "<?xml"):
			head = after(head, "?>")
		default:
			for _, start := range pageStarts {
				if strings.HasPrefix(head, start) {
					return true
				}
			}
			return false
		}
	}
}

// after is what follows the first mark, or "".
func after(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	return rest
}
