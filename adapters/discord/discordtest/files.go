package discordtest

import (
	"crypto/sha256"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// File is a file in a message.
type File struct {
	ID, Name, MIME string
	Data           []byte
	// URL is where the file can be read, until it runs out.
	URL string
}

// attachment is one entry of the list that tells which file is which.
type attachment struct {
	ID          any // of a file that the message has, or the number of a new one
	Filename    string
	Description string
}

// maxUpload are the sizes of files that guilds take by their level of boosts.
var maxUpload = map[int]int{0: 10 << 20, 1: 10 << 20, 2: 50 << 20, 3: 100 << 20}

// WithFile puts a file into the message.
func WithFile(name, kind string, data []byte) Saying {
	return func(m *Message) { m.Files = append(m.Files, File{Name: name, MIME: kind, Data: data}) }
}

// Boost sets the level of boosts of a guild.
func (s *Server) Boost(guild string, level int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boosts[guild] = level
	o := s.guildJSON(guild)
	delete(o, "channels")
	delete(o, "threads")
	s.dispatch("GUILD_UPDATE", intentGuilds, o)
}

// checkFiles holds files to the limits that every place has.
func (s *Server) checkFiles(m outgoingMessage) *apiError {
	if len(m.files) > maxFiles || count(m.Attachments) > maxFiles {
		return invalid("files", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
	}
	if m.Attachments == nil {
		return nil
	}
	for i, a := range *m.Attachments {
		number := fmt.Sprint(a.ID)
		known := slices.ContainsFunc(m.files, func(f upload) bool { return f.number == number })
		if n, err := strconv.ParseInt(number, 10, 64); !known && (err != nil || n < maxFiles) {
			return invalid(fmt.Sprintf("attachments.%d.id", i), "ATTACHMENT_NOT_FOUND", "There is no file with that number")
		}
	}
	return nil
}

// tooLarge refuses files that are too large for a guild.
func (s *Server) tooLarge(guild string, files []upload) *apiError {
	for _, f := range files {
		if len(f.data) > maxUpload[s.boosts[guild]] {
			return refused(http.StatusRequestEntityTooLarge, 40005, "Request entity too large")
		}
	}
	return nil
}

// store gives the files of a message ids and addresses. The lock is held.
func (s *Server) store(m *Message) {
	for i := range m.Files {
		f := &m.Files[i]
		if f.ID == "" {
			f.ID = s.newID()
		}
		f.URL = s.address(m.Channel, *f, time.Now().Add(24*time.Hour))
		s.stored[f.ID] = *f
	}
}

// address is where a file can be read until a time. The lock is held.
func (s *Server) address(channel string, f File, until time.Time) string {
	end := strconv.FormatInt(until.Unix(), 16)
	return fmt.Sprintf("%s/attachments/%s/%s/%s?ex=%s&is=0&hm=%s&", strings.TrimSuffix(s.URL, "/api"), channel, f.ID,
		url.PathEscape(f.Name), end, s.signature(f.ID, end))
}

func (s *Server) signature(id, end string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(s.token+id+end)))[:32]
}

// uploads are the files of a request, named as the list in its body says.
func (m outgoingMessage) uploads() []File {
	var all []File
	for _, u := range m.files {
		f := File{Name: u.name, MIME: u.kind, Data: u.data}
		if m.Attachments != nil {
			for _, a := range *m.Attachments {
				if fmt.Sprint(a.ID) == u.number && a.Filename != "" {
					f.Name = a.Filename
				}
			}
		}
		all = append(all, f)
	}
	return all
}

func fileJSON(f File) object {
	kind := f.MIME
	if kind == "" {
		kind = mime.TypeByExtension(path.Ext(f.Name))
	}
	return object{"id": f.ID, "filename": f.Name, "size": len(f.Data), "url": f.URL, "proxy_url": f.URL, "content_type": kind}
}

// Expire lets the addresses of a message's files run out.
func (s *Server) Expire(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(channel, id)
	for i, f := range m.Files {
		m.Files[i].URL = s.address(channel, f, time.Now().Add(-time.Hour))
	}
}

// serveFile is the place where attachments are read; it wants no token.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f, ok := s.stored[r.PathValue("id")]
	end := r.URL.Query().Get("ex")
	signed := r.URL.Query().Get("hm") == s.signature(f.ID, end)
	s.requests = append(s.requests, &Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Status: http.StatusOK})
	token := r.Header.Get("Authorization")
	s.mu.Unlock()
	until, err := strconv.ParseInt(end, 16, 64)
	switch {
	case token != "":
		http.Error(w, "a token was sent to where files are", http.StatusBadRequest)
	case !ok, !signed, err != nil, time.Now().Unix() >= until:
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", f.MIME)
		_, _ = w.Write(f.Data)
	}
}

// refreshURLs gives new addresses for old ones.
func (s *Server) refreshURLs(c *call) (int, any) {
	var d struct {
		URLs []string `json:"attachment_urls"`
	}
	if e := c.decode(&d); e != nil {
		return fail(e)
	}
	list := []object{}
	for _, old := range d.URLs {
		fresh := any(nil)
		if u, err := url.Parse(old); err == nil {
			parts := strings.Split(strings.Trim(u.Path, "/"), "/") // attachments, channel, id, name
			if f, ok := s.stored[parts[max(0, len(parts)-2)]]; ok && len(parts) == 4 {
				fresh = s.address(parts[1], f, time.Now().Add(24*time.Hour))
			}
		}
		list = append(list, object{"original": old, "refreshed": fresh})
	}
	return http.StatusOK, object{"refreshed_urls": list}
}
