package slacktest

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// HostedFile is a file that somebody put into Slack.
type HostedFile struct {
	ID, Name, MIME string
	Data           []byte
	// Served is the type that it is served with, MIME if empty.
	Served string
	// Redirect sends whoever asks for it to this address.
	Redirect string
	// Mode is tombstone, hidden_by_limit or external for a file that cannot be
	// read; Access is check_file_info for one of another company, of which
	// events tell the id only.
	Mode, Access string
}

// Host puts a file into Slack. [Attach] shows it in a message.
func (s *Server) Host(f HostedFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosted[f.ID] = f
}

// Attach shows files of [Server.Host] in a message.
func (s *Server) Attach(ids ...string) Option {
	s.mu.Lock()
	defer s.mu.Unlock()
	var files []map[string]any
	for _, id := range ids {
		f := s.hosted[id]
		v := s.describe(f)
		if f.Access == "check_file_info" {
			v = map[string]any{"id": f.ID, "file_access": f.Access, "created": 0, "timestamp": 0, "user": ""}
		}
		files = append(files, v)
	}
	return func(o *Said) {
		o.Subtype = "file_share"
		o.Files = append(slices.Clone(o.Files), files...)
	}
}

// describe is a file as files.info tells it. The lock is held.
func (s *Server) describe(f HostedFile) map[string]any {
	v := map[string]any{"id": f.ID, "name": f.Name, "title": f.Name, "mimetype": f.MIME, "size": len(f.Data), "mode": "hosted", "file_access": "visible"}
	if f.Mode != "" {
		v["mode"] = f.Mode
	}
	if f.Mode != "tombstone" && f.Mode != "hidden_by_limit" {
		address := "http://" + s.listener.Addr().String() + "/files-pri/" + f.ID
		maps.Copy(v, map[string]any{"url_private": address + "/" + f.Name, "url_private_download": address + "/download/" + f.Name})
	}
	return v
}

// filesInfo is files.info.
func (s *Server) filesInfo(a args) reply {
	f, ok := s.hosted[a["file"]]
	if !ok {
		return failed("file_not_found")
	}
	return reply{"file": s.describe(f)}
}

// signIn is what Slack serves, with status 200, to who may not read a file.
const signIn = "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in to your workspace</body></html>"

// serveFile serves a file to whoever has the token, and a page to sign in at to
// all others.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	call := s.record(r, "file", args{"signed": map[bool]string{true: "yes", false: "no"}[token == s.cfg.BotToken]})
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/files-pri/"), "/")
	s.mu.Lock()
	f, ok := s.hosted[id]
	s.mu.Unlock()
	s.settleCall(call, "")
	switch {
	case !ok:
		http.NotFound(w, r)
	case token != s.cfg.BotToken || !slices.Contains(s.Scopes(), "files:read"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, signIn)
	case f.Redirect != "":
		http.Redirect(w, r, f.Redirect, http.StatusFound)
	default:
		w.Header().Set("Content-Type", either(f.Served, f.MIME))
		_, _ = w.Write(f.Data)
	}
}
