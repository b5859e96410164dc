package slack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

const (
	maxFile = 20 << 20
	// fileTimeout bounds the sending of one file, remarkTimeout that of the
	// remark that it failed.
	fileTimeout   = time.Minute
	remarkTimeout = 10 * time.Second
	fileTries     = 3
)

// attach sends the files of a post after its text, each as a message in the
// same thread. A file that cannot be sent is named there: the text stands
// already, and sending it again would show it twice.
func (a *Adapter) attach(ctx context.Context, p core.Post) {
	for i, f := range p.Files {
		err := a.upload(ctx, p.Target.Thread, f)
		if err == nil {
			a.works.posted(refOf(p.Target.Thread))
			continue
		}
		e := sendError(err)
		a.log.Warn("a file could not be sent", "channel", p.Target.Thread.Channel, "name", f.Name, "error", e)
		a.remark(ctx, p, fmt.Sprintf("%s/file%d", p.Nonce, i), fileRemark(f, e))
	}
}

// fileRemark names a file that could not be sent, without Slack's own words.
func fileRemark(f core.File, e *core.SendError) string {
	text := fmt.Sprintf("The file %s could not be attached", quoted(f.Name))
	switch {
	case e.Unknown:
		text = fmt.Sprintf("The file %s may not have been attached: Slack did not say", quoted(f.Name))
	case e.Help != "":
		text += ": " + e.Help
	}
	return text + "."
}

// remark posts a line in the thread of a post.
func (a *Adapter) remark(ctx context.Context, p core.Post, id, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remarkTimeout)
	defer cancel()
	r := core.Post{Target: p.Target, Kind: core.PostNotice, Text: text, Nonce: id}
	c, bad := renderPost(r)
	if bad == nil {
		if _, err := a.post(ctx, r, c); err != nil {
			a.log.Warn("a remark could not be posted", "channel", p.Target.Thread.Channel, "error", err)
		}
	}
}

// upload brings one file into a thread, in Slack's three steps. The address
// that Slack names for the second must be its own, since the token goes with
// the file.
func (a *Adapter) upload(ctx context.Context, t core.Thread, f core.File) error {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	f.Name = first(f.Name, "file") // Slack takes none without
	switch {
	case len(f.Data) == 0:
		return &core.SendError{Permanent: true, Help: "it is empty", Err: errors.New("the file is empty")}
	case len(f.Data) > maxFile:
		return &core.SendError{Permanent: true, Help: "it is too large", Err: errors.New("the file is too large")}
	}
	var to *slackgo.GetUploadURLExternalResponse
	err := patiently(ctx, func() (err error) {
		to, err = a.api.GetUploadURLExternalContext(ctx, slackgo.GetUploadURLExternalParameters{FileName: f.Name, FileSize: len(f.Data)})
		return err
	})
	if err != nil {
		return refusedFile(err)
	}
	err = patiently(ctx, func() error {
		return a.api.UploadToURL(ctx, slackgo.UploadToURLParameters{UploadURL: to.UploadURL, Filename: f.Name, Reader: bytes.NewReader(f.Data)})
	})
	if err != nil {
		return refusedFile(err)
	}
	return patiently(ctx, func() error {
		_, err := a.api.CompleteUploadExternalContext(ctx, slackgo.CompleteUploadExternalParameters{
			Files: []slackgo.FileSummary{{ID: to.FileID, Title: f.Name}}, Channel: t.Channel, ThreadTimestamp: t.Root,
		})
		return err
	})
}

// refusedFile is the error of a step before the last: nothing is to be seen of
// the file, whatever came of the request.
func refusedFile(err error) error {
	e := sendError(err)
	e.Unknown = false
	return e
}

// patiently makes a request, and makes it again after as long as Slack asks to
// wait.
func patiently(ctx context.Context, request func() error) error {
	for try := 1; ; try++ {
		err := request()
		var limited *slackgo.RateLimitedError
		if try == fileTries || !errors.As(err, &limited) || !sleep(ctx, limited.RetryAfter) {
			return err
		}
	}
}

// quoted is a name as code, so that nothing in it is markup.
func quoted(name string) string {
	return "`" + strings.NewReplacer("`", "'", "\n", " ").Replace(name) + "`"
}
