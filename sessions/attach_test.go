package sessions_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/llm"
	"understudy/core/tool"
)

// bring delivers a message with files.
func (h *house) bring(name, text string, files ...core.Attachment) {
	h.t.Helper()
	m := h.message(name, text)
	m.Attachments = files
	if err := h.bot.Message(context.Background(), m); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
}

// stocked is a platform that gives out what the files' names say, and counts
// how often it is asked.
func (h *house) stocked(asked *int) {
	h.place.fetch = func(a core.Attachment, limit int64) (core.Attachment, error) {
		*asked++
		switch {
		case strings.HasPrefix(a.Name, "broken"):
			return a, errors.New("connection reset")
		case strings.HasPrefix(a.Name, "page"):
			a.Note = "the platform sent a web page in place of the file"
			return a, nil
		}
		a.Data = []byte("the data of " + a.Name)
		return a, nil
	}
}

// lastAsked are the parts of the last message that a model was given.
func (h *house) lastAsked() []llm.Part {
	all := h.log.Requests()
	list := all[len(all)-1].Request.Messages
	return list[len(list)-1].Parts
}

const speaker = `{"speaker":"Ann"}` + "\n"

func TestFilesReachTheModel(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.PDFs = func(r llm.Ref) bool { return r == ref("a/m1") }
		h.set.Transcribe = func(_ context.Context, a core.Attachment) (string, error) {
			return "heard " + string(a.Data), nil
		}
		asked := 0
		h.stocked(&asked)
		h.open()
		h.model("a/m1", `529 "overloaded_error"`)
		h.bring("t1", "look",
			core.Attachment{Name: "p.png", MIME: "image/png"},
			core.Attachment{Name: "n.txt", MIME: "text/plain"},
			core.Attachment{Name: "d.pdf", MIME: "application/pdf"},
			core.Attachment{Name: "v.ogg", MIME: "audio/ogg"},
		)
		h.expectPosts("t1 answer: ok", "t1 notice: …")
		parts := h.lastAsked()
		if len(parts) != 4 || parts[0].Text != speaker ||
			parts[1].Text != "look\n\n[the file n.txt]\n```\nthe data of n.txt\n```\n\n[what was said in the voice message v.ogg]\n```\nheard the data of v.ogg\n```" ||
			string(parts[2].Image.Data) != "the data of p.png" || parts[3].Document.Name != "d.pdf" {
			t.Errorf("the model got %+v", parts)
		}
		// Whoever is asked gets the same.
		if first := h.log.Requests()[0].Request.Messages; len(first[len(first)-1].Parts) != 4 {
			t.Errorf("the first model got %+v", first)
		}
		if asked != 4 {
			t.Errorf("%d files were fetched", asked)
		}
	})
}

// What cannot be used is named, to the person once and to the model.
func TestUnusedFilesAreNamed(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.stocked(&asked)
		h.set.Sees = func(llm.Ref) bool { return false } // none is to be seen
		h.open()
		h.bring("t1", "",
			core.Attachment{Name: "page.m4a", MIME: "audio/mp4"},
			core.Attachment{Name: "broken.png", MIME: "image/png"},
			core.Attachment{Name: "d.pdf", MIME: "application/pdf"},
			core.Attachment{Name: "v.ogg", MIME: "audio/ogg"},
			core.Attachment{Name: "x[1].bin", MIME: "application/zip"},
			core.Attachment{Name: "far.txt", Note: "it is somewhere else"},
		)
		h.say("t1", "and now?")
		why := "page.m4a: the platform sent a web page in place of the file; broken.png: it could not be read; " +
			"d.pdf: the model in use reads no PDFs; v.ogg: no model is set up that listens to voice messages (transcription.model); " +
			"x_1_.bin: files of this kind cannot be read; far.txt: it is somewhere else"
		h.expectPosts("t1 command: Not everything that came with this message can be used. "+why+".", "t1 answer: ok", "t1 answer: ok")
		text := h.log.Requests()[0].Request.Messages[0].Text()
		for line := range strings.SplitSeq(why, "; ") {
			if !strings.Contains(text, "[attachment "+line+"]") {
				t.Errorf("the model is not told %q: %s", line, text)
			}
		}
	})
}

// A voice message behind which a sign-in page was served is not "heard".
func TestP190(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.stocked(&asked)
		h.set.Transcribe = func(context.Context, core.Attachment) (string, error) {
			t.Error("a page was transcribed")
			return "", nil
		}
		h.open()
		h.bring("t1", "", core.Attachment{Name: "page.m4a", MIME: "audio/mp4"})
		h.expectPosts("t1 command: Not everything that came with this message can be used. page.m4a: the platform sent a web page in place of the file.",
			"t1 answer: ok")
	})
}

func TestLongFilesAreCut(t *testing.T) {
	inHouse(t, func(h *house) {
		sizes := map[string]int{"a": 100 << 10, "b": 250 << 10, "c": 100<<10 - 3, "d": 5 << 10, "e": 1 << 10}
		h.place.fetch = func(a core.Attachment, _ int64) (core.Attachment, error) {
			a.Data = []byte(strings.Repeat("```\n", sizes[a.Name]/4))
			a.MIME = "text/plain"
			return a, nil
		}
		h.open()
		h.bring("t1", "", core.Attachment{Name: "a"}, core.Attachment{Name: "b"}, core.Attachment{Name: "c"}, core.Attachment{Name: "d"})
		h.expectPosts("t1 command: Not everything that came with this message can be used. b: only its first 100 of 250 KiB are read; "+
			"d: only its first 0 of 5 KiB are read.", "t1 answer: ok")
		text := h.lastAsked()[1].Text
		if len(text) > 301<<10 || !strings.Contains(text, "[the file b; only its first 100 of 250 KiB are read]\n````\n") {
			t.Errorf("the model got %d bytes: %.300q", len(text), text)
		}
	})
}

// What was fetched is stored with the message: another run of the turn does not
// fetch it again, and does not tell again what cannot be used.
// What was said in a voice message is cut like a file, and the room that files had
// is free again after the turn.
func TestALongVoiceMessageIsCut(t *testing.T) {
	inHouse(t, func(h *house) {
		h.place.fetch = func(a core.Attachment, _ int64) (core.Attachment, error) {
			a.Data = make([]byte, 1<<20)
			return a, nil
		}
		h.set.Transcribe = func(context.Context, core.Attachment) (string, error) { return strings.Repeat("so, ", 50<<10), nil }
		h.open()
		h.bring("t1", "", core.Attachment{Name: "v.ogg", MIME: "audio/ogg"})
		h.expectPosts("t1 command: Not everything that came with this message can be used. v.ogg: only its first 100 of 200 KiB are read.", "t1 answer: ok")
		if got := len(h.lastAsked()[1].Text); got > 101<<10 {
			t.Errorf("the model got %d bytes", got)
		}
		for range 30 { // of 20 MiB, as long as nobody knows better
			h.bring("t1", "", core.Attachment{Name: "v.ogg", MIME: "audio/ogg"})
		}
		if last := h.place.all(); strings.Contains(strings.Join(last, "\n"), "so many files") {
			t.Errorf("posts: %q", last)
		}
	})
}

func TestFilesAreFetchedOnce(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.stocked(&asked)
		h.open()
		h.model("a/m1", "hang", `text "ok"`)
		h.bring("t1", "look", core.Attachment{Name: "p.png", MIME: "image/png"}, core.Attachment{Name: "page", MIME: "text/plain"})
		h.stop(time.Second)
		h.open()
		h.expectPosts("t1 command: Not everything…", "t1 answer: ok")
		if parts := h.lastAsked(); asked != 2 || len(parts) != 3 || parts[2].Image == nil {
			t.Errorf("asked %d times; the model got %+v", asked, parts)
		}
		h.say("t1", "/retry")
		if asked != 2 {
			t.Errorf("a retry fetched again")
		}
	})
}

// A message that is stopped while its files are fetched is not answered.
func TestStopWhileFetching(t *testing.T) {
	inHouse(t, func(h *house) {
		h.place.fetch = func(a core.Attachment, _ int64) (core.Attachment, error) {
			time.Sleep(time.Minute)
			return a, nil
		}
		h.open()
		h.bring("t1", "look", core.Attachment{Name: "p.png", MIME: "image/png"})
		h.say("t1", "/stop")
		time.Sleep(2 * time.Minute)
		h.expectPosts("t1 command: …")
		if got := h.asked(); len(got) > 0 {
			t.Errorf("the model was asked %q", got)
		}
	})
}

// A model that cannot see is told of earlier pictures, not given them.
func TestEarlierPicturesAreLegible(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.stocked(&asked)
		blind := false
		h.set.Sees = func(llm.Ref) bool { return !blind }
		h.set.PDFs = func(llm.Ref) bool { return !blind }
		h.open()
		h.bring("t1", "look", core.Attachment{Name: "p.png", MIME: "image/png"}, core.Attachment{Name: "d.pdf", MIME: "application/pdf"})
		blind = true
		h.say("t1", "and?")
		var texts []string
		for _, r := range h.log.Requests()[1].Request.Messages {
			for _, p := range r.Parts {
				if p.Image != nil || p.Document != nil {
					t.Error("it got the picture or the document")
				}
				texts = append(texts, strings.TrimSpace(p.Text))
			}
		}
		if got := strings.Join(texts, "|"); !strings.Contains(got, "[a picture that this model cannot see]|[the PDF d.pdf cannot be shown to this model]") {
			t.Errorf("it was told %q", got)
		}
		entries, err := h.store.Transcript(context.Background(), key("t1"), h.session("t1").Transcript, 10)
		if err != nil || len(entries[0].Message.Parts) != 3 || entries[0].Message.Parts[1].Image == nil {
			t.Errorf("stored is %+v, %v", entries, err)
		}
	})
}

// Something was said before the tool ran, and nothing after it: that is the
// answer, and no fault of the model.
func TestP184(t *testing.T) {
	inHouse(t, func(h *house) {
		h.agent.Tools = append(h.agent.Tools, gadget{"echo", func(context.Context, tool.Call) (string, error) { return "done", nil }})
		h.client = func(c llm.Client) llm.Client { return wordless{c} }
		h.open()
		h.say("t1", "send it")
		h.expectPosts("t1 answer: Here it is.")
		if len(h.log.Requests()) != 0 {
			t.Errorf("another model was asked: %q", h.asked())
		}
	})
}

// wordless is a model that says something, calls a tool, and then nothing.
type wordless struct{ llm.Client }

func (w wordless) Stream(_ context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		reply := llm.Message{Role: llm.Assistant}
		if r.Messages[len(r.Messages)-1].Role == llm.User {
			call := llm.Call{ID: "1", Name: "echo", Args: []byte("{}")}
			reply.Parts = []llm.Part{{Text: "Here it is."}, {Call: &call}}
			yield(llm.Event{Kind: llm.TextEvent, Text: "Here it is."}, nil)
			yield(llm.Event{Kind: llm.CallEvent, Call: &call}, nil)
		}
		yield(llm.Event{Kind: llm.DoneEvent, Reply: reply}, nil)
	}
}
