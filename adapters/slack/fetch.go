package slack

import (
	"context"
	"fmt"
	"net/url"

	"understudy/adapters/media"
	"understudy/core"
)

var _ core.Fetcher = (*Adapter)(nil)

// file is a file as Slack describes it.
type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	MIME     string `json:"mimetype"`
	Size     int64  `json:"size"`
	Mode     string `json:"mode"`
	Access   string `json:"file_access"`
	Private  string `json:"url_private"`
	Download string `json:"url_private_download"`
}

// noFiles are the reasons why a file cannot be read, by its mode or access.
var noFiles = map[string]string{
	"tombstone":       "the file was deleted",
	"hidden_by_limit": "Slack hides the file: it is too old for the workspace's plan",
	"external":        "the file is kept outside of Slack",
	"access_denied":   "the bot may not read the file",
	"file_not_found":  "the file was deleted",
}

// attachment names the file. One that another company shares comes without an
// address; it is asked for when the file is read.
func (f file) attachment() core.Attachment {
	return core.Attachment{ID: f.ID, Name: first(f.Name, f.Title, f.ID), MIME: f.MIME, Size: f.Size,
		URL: first(f.Download, f.Private), Note: first(noFiles[f.Mode], noFiles[f.Access])}
}

func attachments(files []file) []core.Attachment {
	var list []core.Attachment
	for _, f := range files {
		list = append(list, f.attachment())
	}
	return list
}

// Fetch reads an attachment from Slack's own hosts; see [core.Fetcher].
func (a *Adapter) Fetch(ctx context.Context, _ core.Thread, at core.Attachment, limit int64) (core.Attachment, error) {
	if at.URL == "" && at.Note == "" {
		var err error
		if at, err = a.fileInfo(ctx, at); err != nil {
			return at, err
		}
	}
	if at.Note != "" {
		return at, nil
	}
	return media.Source{HTTP: a.http, Hosts: a.fileHosts(), Token: a.cfg.BotToken}.Fetch(ctx, at, limit)
}

// fileInfo asks for what the event left out about a file.
func (a *Adapter) fileInfo(ctx context.Context, at core.Attachment) (core.Attachment, error) {
	var answer struct {
		File file `json:"file"`
	}
	err := a.ask(ctx, "files.info", url.Values{"file": {at.ID}}, &answer)
	switch {
	case saidCode(err, "file_not_found", "file_deleted"):
		at.Note = noFiles["tombstone"]
		return at, nil
	case saidCode(err, "access_denied", "no_permission", "missing_scope", "not_visible"):
		at.Note = noFiles["access_denied"]
		return at, fmt.Errorf("slack: asking about a file: %w", err)
	case err != nil:
		return at, fmt.Errorf("slack: asking about a file: %w", err)
	}
	full := answer.File.attachment()
	full.Name, full.MIME, full.Size = first(full.Name, at.Name), first(full.MIME, at.MIME), max(full.Size, at.Size)
	if full.URL == "" && full.Note == "" {
		full.Note = noFiles["access_denied"]
	}
	return full, nil
}

// fileHosts are the hosts that files are read from, and which get the token:
// Slack's, and that of the Web API where it is another.
func (a *Adapter) fileHosts() []string {
	hosts := []string{"slack.com", ".slack.com", ".slack-gov.com"}
	if u, err := url.Parse(a.cfg.APIURL); err == nil {
		hosts = append(hosts, u.Host)
	}
	return hosts
}
