package slacktest

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// args are the arguments of one call, from the form, the query or a JSON body;
// JSON values that are no strings are kept as JSON text, as forms hold them.
type args map[string]string

// reply is a method's answer; one without "error" is a success.
type reply map[string]any

// failed is the answer ok:false with Slack's code.
func failed(code string) reply { return reply{"error": code} }

// method is one call of the Web API: which scope it needs and what it does,
// under the server's lock.
type method struct {
	scope string
	run   func(*Server, args) reply
}

// methods are the calls that this Slack knows. Those without a scope need only
// a valid token.
var methods = map[string]method{
	"api.test":                              {"", func(*Server, args) reply { return reply{} }},
	"auth.test":                             {"", (*Server).authTest},
	"chat.postMessage":                      {"chat:write", (*Server).postMessage},
	"chat.postEphemeral":                    {"chat:write", (*Server).postEphemeral},
	"chat.update":                           {"chat:write", (*Server).updateMessage},
	"chat.delete":                           {"chat:write", (*Server).deleteMessage},
	"chat.startStream":                      {"chat:write", (*Server).startStream},
	"chat.appendStream":                     {"chat:write", (*Server).appendStream},
	"chat.stopStream":                       {"chat:write", (*Server).stopStream},
	"files.info":                            {"files:read", (*Server).filesInfo},
	"files.getUploadURLExternal":            {"files:write", (*Server).uploadURL},
	"files.completeUploadExternal":          {"files:write", (*Server).completeUpload},
	"views.open":                            {"", (*Server).openView},
	"views.update":                          {"", (*Server).updateView},
	"assistant.threads.setStatus":           {"chat:write", (*Server).setStatus},
	"assistant.threads.setTitle":            {"chat:write", (*Server).setTitle},
	"assistant.threads.setSuggestedPrompts": {"chat:write", (*Server).setPrompts},
	"conversations.history":                 {"channels:history", (*Server).history},
	"conversations.replies":                 {"channels:history", (*Server).replies},
	"conversations.info":                    {"channels:read", (*Server).conversationInfo},
	"users.info":                            {"users:read", (*Server).usersInfo},
	"bots.info":                             {"users:read", (*Server).botsInfo},
	"conversations.list":                    {"channels:read", (*Server).conversationList},
	"conversations.members":                 {"channels:read", (*Server).conversationMembers},
	"conversations.open":                    {"im:write", (*Server).conversationOpen},
	"reactions.add":                         {"reactions:write", (*Server).reactionsAdd},
	"reactions.remove":                      {"reactions:write", (*Server).reactionsRemove},
}

// otherScopes are those of events and commands, and those that Slack has for
// what the methods here do in conversations of other kinds, with files, and
// with reactions.
var otherScopes = []string{
	"app_mentions:read", "assistant:write", "commands", "groups:history", "groups:read", "im:history", "im:read", "im:write",
	"mpim:history", "mpim:read", "reactions:read",
}

func allScopes() []string {
	scopes := slices.Clone(otherScopes)
	for _, m := range methods {
		if m.scope != "" && !slices.Contains(scopes, m.scope) {
			scopes = append(scopes, m.scope)
		}
	}
	slices.Sort(scopes)
	return scopes
}

// Scopes are those of the bot token.
func (s *Server) Scopes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.cfg.Scopes)
}

// Grant gives the bot token these scopes, and no others, from now on, as if the
// app had been installed again; none at all stands for those of the start.
func (s *Server) Grant(scopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Scopes = slices.Clone(scopes)
	if len(scopes) == 0 {
		s.cfg.Scopes = allScopes()
	}
}

// serveAPI answers one call: log it, let a fault have its way, do it.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/api/")
	a, token := arguments(r)
	call := s.record(r, name, a)
	fault, armed := s.fault(name)
	var out reply
	if !armed || fault.performs() {
		out = s.run(name, token, a)
	}
	if armed && !fault.answer(s, w, r) {
		s.settleCall(call, fault.code())
		return
	}
	if armed && fault.Error != "" {
		out = failed(fault.Error)
		for k, v := range fault.Fields {
			out[k] = v
		}
	}
	code, _ := out["error"].(string)
	s.settleCall(call, code)
	if code == "ratelimited" && out["retry"] != nil {
		w.Header().Set("Retry-After", strconv.Itoa(out["retry"].(int)))
		w.WriteHeader(http.StatusTooManyRequests)
	}
	out["ok"] = code == ""
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-OAuth-Scopes", strings.Join(s.Scopes(), ","))
	_ = json.NewEncoder(w).Encode(out)
}

// run does what the method does, if the token may.
func (s *Server) run(name, token string, a args) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	if name == "apps.connections.open" {
		return s.openConnection(token)
	}
	m, known := methods[name]
	switch {
	case s.revoked != "" && token != "":
		return failed(s.revoked)
	case !known:
		return failed("unknown_method")
	case token == "":
		return failed("not_authed")
	case token == s.cfg.AppToken:
		return failed("not_allowed_token_type")
	case token != s.cfg.BotToken:
		return failed("invalid_auth")
	case m.scope != "" && !slices.Contains(s.cfg.Scopes, m.scope):
		return reply{"error": "missing_scope", "needed": m.scope, "provided": strings.Join(s.cfg.Scopes, ",")}
	}
	return m.run(s, a)
}

// openConnection hands out the address of a socket, good for one use.
func (s *Server) openConnection(token string) reply {
	switch token {
	case "":
		return failed("not_authed")
	case s.cfg.BotToken:
		return failed("not_allowed_token_type")
	case s.cfg.AppToken:
	default:
		return failed("invalid_auth")
	}
	if s.revoked != "" {
		return failed(s.revoked)
	}
	ticket := s.id("ticket-")
	s.tickets[ticket] = true
	return reply{"url": "ws://" + s.listener.Addr().String() + "/link?ticket=" + ticket + "&app_id=" + App}
}

// arguments reads the arguments and the token of a request.
func arguments(r *http.Request) (a args, token string) {
	a = args{}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(body, &fields)
		for k, v := range fields {
			var text string
			if json.Unmarshal(v, &text) != nil {
				text = string(v)
			}
			a[k] = text
		}
	}
	_ = r.ParseMultipartForm(1 << 20) // reads plain forms and the query too
	for k, v := range r.Form {
		a[k] = v[0]
	}
	token = a["token"]
	delete(a, "token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && token == "" {
		token = bearer
	}
	return a, token
}
