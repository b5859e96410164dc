package llmtest

import (
	"encoding/json"
	"net/http"
)

// Control is the remote control of a Server in another process:
//
//	POST /queue     {"model": "m", "key": "", "answers": [Response, …]}
//	POST /open      {"gate": "name"}
//	GET  /requests  the log
//	GET  /counts    {"asked": 1, "gone": 0, "conns": 1}
//
// Durations are nanoseconds. It is for machines of one's own: it shows the
// credentials that the requests came with.
func (s *Server) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /queue", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model, Key string
			Answers    []Response
		}
		if read(w, r, &in) {
			s.QueueFor(in.Model, in.Key, in.Answers...)
		}
	})
	mux.HandleFunc("POST /open", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Gate string }
		if read(w, r, &in) {
			s.Open(in.Gate)
		}
	})
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, _ *http.Request) { write(w, s.Requests()) })
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		asked, gone, conns := s.Counts()
		write(w, map[string]int{"asked": asked, "gone": gone, "conns": conns})
	})
	return mux
}

func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // who left is told by nobody here
}
