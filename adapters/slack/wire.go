package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// payload is the outer part of an Events API payload.
type payload struct {
	Type           string `json:"type"` // event_callback, app_rate_limited or url_verification
	Challenge      string `json:"challenge"`
	EventID        string `json:"event_id"`
	EventTime      int64  `json:"event_time"`
	TeamID         string `json:"team_id"`
	ContextTeamID  string `json:"context_team_id"`
	AppID          string `json:"api_app_id"`
	External       bool   `json:"is_ext_shared_channel"`
	Authorizations []struct {
		TeamID string `json:"team_id"`
	} `json:"authorizations"`
	Event event `json:"event"`
	// recalled: it is no event, but was read because its event may have been
	// missed.
	recalled bool
}

// event is as much of an event as the bot goes by. Of a change, Message and
// Previous hold the message after and before.
type event struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	Channel     string          `json:"channel"`
	ChannelType string          `json:"channel_type"`
	User        string          `json:"user"`
	BotID       string          `json:"bot_id"`
	AppID       string          `json:"app_id"`
	Username    string          `json:"username"`
	Text        string          `json:"text"`
	Blocks      json.RawMessage `json:"blocks"`
	TS          stamp           `json:"ts"`
	ThreadTS    stamp           `json:"thread_ts"`
	Parent      string          `json:"parent_user_id"` // who began the thread
	EventTS     stamp           `json:"event_ts"`
	DeletedTS   stamp           `json:"deleted_ts"`
	Team        string          `json:"team"`
	UserTeam    string          `json:"user_team"`
	SourceTeam  string          `json:"source_team"`
	Hidden      bool            `json:"hidden"`
	Edited      json.RawMessage `json:"edited"`
	Files       []file          `json:"files"`
	Attachments []shared        `json:"attachments"`
	Message     *event          `json:"message"`
	Previous    *event          `json:"previous_message"`
	Tokens      struct {
		Bot []string `json:"bot"`
	} `json:"tokens"`
	Assistant struct {
		User     string `json:"user_id"`
		Channel  string `json:"channel_id"`
		ThreadTS stamp  `json:"thread_ts"`
		// ActionToken is all of it that a message has.
		ActionToken string `json:"action_token"`
	} `json:"assistant_thread"`
}

// shared is a message that stands in another one: somebody forwarded it, or
// pasted a link to it. The reports of apps have the same shape.
type shared struct {
	IsShare  bool   `json:"is_share"`
	IsUnfurl bool   `json:"is_msg_unfurl"`
	Author   string `json:"author_name"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Fallback string `json:"fallback"`
	Files    []file `json:"files"`
}

// inThread reports whether a message is a reply. A root that has replies bears
// its own timestamp as that of its thread.
func (ev event) inThread() bool { return ev.ThreadTS != "" && ev.ThreadTS != ev.TS }

// subject is the message that the event is about.
func (p payload) subject() event {
	ev := p.Event
	switch {
	case ev.Message != nil:
		return p.within(*ev.Message)
	case ev.DeletedTS != "":
		gone := event{}
		if ev.Previous != nil {
			gone = *ev.Previous
		}
		gone.TS = ev.DeletedTS
		return p.within(gone)
	}
	if ev.TS == "" {
		ev.TS = ev.EventTS
	}
	return ev
}

// within gives a message inside an event the conversation that only the event
// names.
func (p payload) within(ev event) event {
	ev.Channel, ev.ChannelType = p.Event.Channel, p.Event.ChannelType
	return ev
}

// workspace is where the conversation is at home for this bot. For an app
// installed in a whole organisation the bot's own team says nothing.
func (p payload) workspace() string {
	switch {
	case p.ContextTeamID != "":
		return p.ContextTeamID
	case len(p.Authorizations) > 0 && p.Authorizations[0].TeamID != "":
		return p.Authorizations[0].TeamID
	}
	return p.TeamID
}

// stamp is a Slack timestamp: an id, kept as exact text.
type stamp string

// UnmarshalJSON takes a number too, which has been seen in place of the text.
// Stamps have six decimals; a number has lost its trailing zeros.
func (s *stamp) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*s = stamp(text)
		return nil
	}
	whole, decimals, _ := strings.Cut(string(bytes.TrimSpace(data)), ".")
	if _, err := strconv.ParseUint(whole, 10, 64); err == nil && len(decimals) <= 6 {
		*s = stamp(whole + "." + decimals + "000000"[len(decimals):])
	}
	return nil
}

// time is when the stamp says it was; zero if it is none.
func (s stamp) time() time.Time {
	whole, decimals, _ := strings.Cut(string(s), ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}
	}
	micro, _ := strconv.ParseInt(decimals, 10, 64)
	return time.Unix(sec, micro*1000).UTC()
}

// stampOf is the stamp of a time.
func stampOf(t time.Time) stamp {
	micro := strconv.Itoa(1e6 + t.Nanosecond()/1000)
	return stamp(strconv.FormatInt(t.Unix(), 10) + "." + micro[1:])
}

// decode reads JSON. A field of an unexpected type is left empty and is no
// error: one odd field must not cost a message.
func decode[T any](data []byte) (T, error) {
	var v T
	err := json.Unmarshal(data, &v)
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		err = nil
	}
	return v, err
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
