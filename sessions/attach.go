package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"understudy/core"
	"understudy/core/llm"
)

const (
	// maxFiles is how many files of one message are read, maxFile the default
	// for how large each may be, and maxBrought for all together.
	maxFiles   = 10
	maxFile    = 20 << 20
	maxBrought = 50 << 20
	// fetchPatience is how long a turn waits for all of them.
	fetchPatience = 2 * time.Minute
	// maxInline is how much of one text file a model is given, and maxInlined
	// of all that came with a message.
	maxInline  = 100 << 10
	maxInlined = 300 << 10
	// maxOpened is what the files of all open turns may hold together.
	maxOpened = 256 << 20
)

// The notes of the sessions; others come from the platform. They go on after
// the name of the file.
const (
	noteUnread   = "it could not be read"
	noteNoFiles  = "files cannot be read on this platform"
	noteTooMany  = "only the first 10 files of a message are read"
	noteTogether = "the files of the message are too large together"
	noteBusy     = "so many files are being worked on that there is no room for it now; send it again in a while"
	notePDF      = "the model in use reads no PDFs"
	noteVoice    = "no model is set up that listens to voice messages (transcription.model)"
	noteUnheard  = "it could not be turned into text"
	noteKind     = "files of this kind cannot be read"
)

// fetch reads what came with the message. Whatever cannot be read has a note;
// the error says that the turn is over.
func (t *turn) fetch(ctx context.Context) ([]core.Attachment, error) {
	patient, cancel := context.WithTimeout(ctx, fetchPatience)
	defer cancel()
	files, left := slices.Clone(t.in.Message.Attachments), int64(maxBrought)
	for i := range files {
		a := &files[i]
		switch {
		case a.Note != "" || a.Data != nil:
			continue
		case i >= maxFiles:
			a.Note = noteTooMany
			continue
		case a.Size > left || left <= 0:
			a.Note = noteTogether
			continue
		}
		limit := min(t.maxFile(), left)
		likely := limit
		if a.Size > 0 {
			likely = min(limit, a.Size)
		}
		if !t.b.files.hold(likely) {
			a.Note = noteBusy
			continue
		}
		*a = t.fetchOne(patient, *a, limit)
		t.b.files.free(likely - int64(len(a.Data)))
		t.opened += int64(len(a.Data))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		left -= int64(len(a.Data))
	}
	return files, nil
}

// holding counts what the files of open turns hold.
type holding struct{ bytes atomic.Int64 }

// hold reserves room for a file, and reports false if there is none.
func (h *holding) hold(n int64) bool {
	if h.bytes.Add(n) > maxOpened {
		h.bytes.Add(-n)
		return false
	}
	return true
}

func (h *holding) free(n int64) { h.bytes.Add(-n) }

// maxFile is the most that is read of one file.
func (t *turn) maxFile() int64 {
	if t.set.MaxAttachment > 0 {
		return t.set.MaxAttachment
	}
	return maxFile
}

func (t *turn) fetchOne(ctx context.Context, a core.Attachment, limit int64) core.Attachment {
	got, err := t.b.Sender.Fetch(ctx, t.in.Message.Thread(), a, limit)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		a.Note = noteNoFiles
		return a
	case err == nil && (got.Data != nil || got.Note != ""):
		return got
	}
	t.b.Log.WarnContext(ctx, "an attachment could not be read", "turn", t.id, "err", err)
	a.Note = noteUnread
	return a
}

// listen turns voice messages into text, which takes the place of their sound.
func (t *turn) listen(ctx context.Context, files []core.Attachment) error {
	for i := range files {
		a := &files[i]
		if a.Note != "" || !sound(*a) {
			continue
		}
		if t.set.Transcribe == nil {
			a.Note = noteVoice
			continue
		}
		text, err := t.transcribe(ctx, *a)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			t.b.Log.WarnContext(ctx, "a voice message could not be turned into text", "turn", t.id, "err", err)
			a.Note = noteUnheard
			continue
		}
		a.Data = []byte(text)
	}
	return nil
}

func (t *turn) transcribe(ctx context.Context, a core.Attachment) (string, error) {
	release, err := t.b.Slots.Take(ctx, addressOf(t.in.Message))
	if err != nil {
		return "", err
	}
	defer release()
	return t.set.Transcribe(ctx, a)
}

func sound(a core.Attachment) bool { return strings.HasPrefix(a.MIME, "audio/") }

// picture reports whether a file is a picture that a model can be given.
func picture(a core.Attachment) bool { return a.Note == "" && a.Image() }

// brought is what a message brought along, for a model, and what its sender is
// to be told.
type brought struct {
	parts  []llm.Part
	text   strings.Builder
	inline int      // bytes of files in text
	unused []string // "name: why"
}

// bring sorts files by what can be done with them. They are the same for every
// model that may answer; pdfs says whether the first of them reads documents.
func bring(files []core.Attachment, pdfs bool) *brought {
	b := &brought{}
	for _, a := range files {
		a.Name = label(a.Name)
		switch {
		case a.Note != "":
			b.refuse(a, a.Note)
		case picture(a):
			b.parts = append(b.parts, llm.Part{Image: &llm.Image{MIME: a.MIME, Data: a.Data}})
		case a.MIME == "application/pdf" && pdfs:
			b.parts = append(b.parts, llm.Part{Document: &llm.Document{Name: a.Name, Data: a.Data}})
		case a.MIME == "application/pdf":
			b.refuse(a, notePDF)
		case sound(a):
			b.include(a, "what was said in the voice message "+a.Name)
		case strings.HasPrefix(a.MIME, "text/"):
			b.include(a, "the file "+a.Name)
		default:
			b.refuse(a, noteKind)
		}
	}
	return b
}

// refuse names a file that cannot be used, to the model and to its sender.
func (b *brought) refuse(a core.Attachment, why string) {
	fmt.Fprintf(&b.text, "\n\n[attachment %s: %s]", a.Name, why)
	b.unused = append(b.unused, a.Name+": "+why)
}

// include puts a text into the message, or its beginning.
func (b *brought) include(a core.Attachment, name string) {
	most := min(maxInline, maxInlined-b.inline)
	text := strings.TrimPrefix(string(a.Data), "\ufeff")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
		why := fmt.Sprintf("only its first %d of %d KiB are read", most>>10, (len(a.Data)+1023)>>10)
		name += "; " + why
		b.unused = append(b.unused, a.Name+": "+why)
	}
	b.inline += len(text)
	b.quote(name, text)
}

// quote adds a text that is data: in a fence that nothing in it can close.
func (b *brought) quote(name, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(&b.text, "\n\n[%s]\n%s\n%s\n%s", name, fence, strings.TrimSuffix(text, "\n"), fence)
}

// maxLabel is how much of a file's name is shown, in bytes.
const maxLabel = 100

// label is the name of a file, fit to stand in a line.
func label(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r < ' ', r == 0x7f, r == 0x2028, r == 0x2029:
			return ' '
		case r == '[', r == ']', r == '`':
			return '_'
		}
		return r
	}, name)
	if name = shorten(strings.TrimSpace(name), maxLabel); name == "" {
		return "without a name"
	}
	return name
}

// unusedPart is the place of the post about unused files among those of a turn
// that are no answer; the first is about a choice that was mended.
const unusedPart = 1

// unusedText tells what cannot be used, in one line.
func unusedText(unused []string) string {
	return "Not everything that came with this message can be used. " + strings.Join(unused, "; ") + "."
}
