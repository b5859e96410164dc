package slacktest

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// maxUpload is how much of a file is read; more is refused.
const maxUpload = 64 << 20

// upload is a file on its way into a channel.
type upload struct {
	id, name string
	size     int
	data     []byte // nil before it came
	shared   bool
}

// uploadURL is files.getUploadURLExternal: the first of three steps.
func (s *Server) uploadURL(a args) reply {
	size, err := strconv.Atoi(a["length"])
	if a["filename"] == "" || err != nil || size <= 0 {
		return failed("missing_argument")
	}
	if size > maxUpload {
		return failed("file_upload_size_restricted")
	}
	u := &upload{id: s.id("F"), name: a["filename"], size: size}
	s.uploads[u.id] = u
	return reply{"file_id": u.id, "upload_url": "http://" + s.listener.Addr().String() + "/upload/" + u.id}
}

// serveUpload takes the bytes: the second step. They come as a form with one
// file, or bare.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, "/upload/")
	call := s.record(r, "upload", args{"id": id})
	fault, armed := s.fault("upload")
	if !armed || fault.performs() {
		data := uploaded(r)
		s.mu.Lock()
		u := s.uploads[id]
		known := u != nil && len(data) == u.size
		if known {
			u.data = data
		}
		s.touch()
		s.mu.Unlock()
		if !known {
			s.settleCall(call, "http_400")
			http.Error(w, "no such upload, or another length than was said", http.StatusBadRequest)
			return
		}
	}
	if armed && !fault.answer(s, w, r) {
		s.settleCall(call, fault.code())
		return
	}
	s.settleCall(call, "")
	_, _ = io.WriteString(w, "OK")
}

// uploaded is the file in a request, whatever its field is called.
func uploaded(r *http.Request) []byte {
	var from io.Reader = r.Body
	if parts, err := r.MultipartReader(); err == nil {
		part, err := parts.NextPart()
		if err != nil {
			return nil
		}
		from = part
	}
	data, _ := io.ReadAll(io.LimitReader(from, maxUpload+1))
	return data
}

// completeUpload is files.completeUploadExternal: the third step shares what
// came, as one message.
func (s *Server) completeUpload(a args) reply {
	var named []struct{ ID, Title string }
	if json.Unmarshal([]byte(a["files"]), &named) != nil || len(named) == 0 {
		return failed("invalid_arguments")
	}
	var files []map[string]any
	for _, n := range named {
		u := s.uploads[n.ID]
		if u == nil || u.data == nil || u.shared {
			return failed("file_not_found")
		}
		kind := either(mime.TypeByExtension(path.Ext(u.name)), "application/octet-stream")
		s.hosted[u.id] = HostedFile{ID: u.id, Name: u.name, MIME: kind, Data: u.data}
		v := s.describe(s.hosted[u.id])
		v["title"] = either(n.Title, u.name)
		files = append(files, v)
	}
	if a["channel_id"] == "" {
		return reply{"files": files} // private to the app
	}
	p, bad := s.writable(a["channel_id"])
	if bad != nil {
		return bad
	}
	root := a["thread_ts"]
	switch parent := p.find(root); {
	case root == "":
	case parent == nil:
		return failed("thread_not_found")
	case parent.Deleted:
		root = ""
	}
	for _, n := range named {
		s.uploads[n.ID].shared = true
	}
	m := &Message{Channel: p.id, TS: s.stamp(), ThreadTS: root, User: s.cfg.BotUser, BotID: s.cfg.BotID, Subtype: "file_share", Text: a["initial_comment"], Files: files}
	p.add(m)
	delete(s.statuses, statusKey{p.id, root})
	s.emit(s.event(m, p))
	return reply{"files": files}
}

// Uploaded is what a file of the bot holds, by its id.
func (s *Server) Uploaded(id string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.uploads[id]; u != nil {
		return u.data
	}
	return nil
}
