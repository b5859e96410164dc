package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// These are the parts of Discord's objects that matter here. Parts that are not
// named, such as components, are never looked at, so that new kinds of them do
// no harm.

type wireUser struct {
	ID         string
	Username   string
	GlobalName string `json:"global_name"`
	Bot        bool
}

type wireMember struct {
	User  *wireUser
	Nick  string
	Roles []string
}

type wireMessage struct {
	ID          string
	ChannelID   string `json:"channel_id"`
	GuildID     string `json:"guild_id"`
	Type        int
	Content     *string
	Author      *wireUser
	Member      *wireMember
	Mentions    []wireUser
	WebhookID   string `json:"webhook_id"`
	Timestamp   string
	EditedAt    string `json:"edited_timestamp"`
	Flags       int
	Everyone    bool   `json:"mention_everyone"`
	AppID       string `json:"application_id"` // of the bot that a webhook belongs to
	ChannelType *int   `json:"channel_type"`   // not always told
	Attachments []wireAttachment
	Referenced  *wireMessage `json:"referenced_message"`
	Snapshots   []struct {
		Message struct {
			Content     string
			Attachments []wireAttachment
		}
	} `json:"message_snapshots"`
}

type wireAttachment struct {
	ID          string
	Filename    string
	ContentType string `json:"content_type"`
	Size        int64
	URL         string
}

type wireDeletion struct {
	ID        string
	IDs       []string
	ChannelID string `json:"channel_id"`
	GuildID   string `json:"guild_id"`
}

// wireGuild is a guild, or the answer that lists its threads.
type wireGuild struct {
	ID          string
	GuildID     string `json:"guild_id"`
	Unavailable bool
	Boosts      *int `json:"premium_tier"` // not told with a list of threads
	Channels    []wireChannel
	Threads     []wireChannel
	Roles       []struct {
		ID   string
		Tags struct {
			BotID string `json:"bot_id"` // of the bot that the role was made for
		}
	}
}

type wireChannel struct {
	ID       string
	Type     int
	GuildID  string `json:"guild_id"`
	ParentID string `json:"parent_id"`
	Name     string
	// LastMessageID is told with the state of a guild.
	LastMessageID string `json:"last_message_id"`
}

// The types of channels.
const (
	typeText         = 0
	typeDirect       = 1
	typeGroup        = 3
	typeAnnouncement = 5
	typeNewsThread   = 10
	typeThread       = 11
	typePrivate      = 12
	typeVoice        = 2
	typeStage        = 13
	typeForum        = 15
	typeMedia        = 16
)

// private reports whether the channel belongs to no guild.
func (c wireChannel) private() bool { return c.Type == typeDirect || c.Type == typeGroup }

func (c wireChannel) thread() bool {
	return c.Type == typeNewsThread || c.Type == typeThread || c.Type == typePrivate
}

// talks reports whether the channel itself holds messages.
func (c wireChannel) talks() bool {
	switch c.Type {
	case typeText, typeAnnouncement, typeVoice, typeStage:
		return true
	}
	return c.thread()
}

type wireInteraction struct {
	ID        string
	Type      int
	Token     string
	AppID     string      `json:"application_id"`
	GuildID   string      `json:"guild_id"`
	ChannelID string      `json:"channel_id"`
	Channel   wireChannel // not always told
	Context   int
	Member    *wireMember
	User      *wireUser
	Data      struct {
		Name     string
		CustomID string `json:"custom_id"`
		Values   []string
		Options  []struct {
			Value   any
			Focused bool
		}
	}
}

// decode reads an event. A field of an unexpected type is left empty; an event
// that is no JSON object at all is passed over.
func decode[T any](r *run, name string, raw json.RawMessage) (T, bool) {
	v, err := read[T](raw)
	var odd *json.UnmarshalTypeError
	switch {
	case err == nil:
	case errors.As(err, &odd) && odd.Field != "":
		r.log.Debug("an event of Discord has a field of an unknown form", "event", name, "field", odd.Field)
	default:
		r.log.Warn("an event of Discord cannot be read", "event", name, "error", err)
		return v, false
	}
	return v, true
}

// read is [json.Unmarshal] that takes ids as strings and as numbers.
func read[T any](raw []byte) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	var odd *json.UnmarshalTypeError
	if errors.As(err, &odd) {
		v = *new(T)
		err = json.Unmarshal(namedIDs(raw), &v)
	}
	return v, err
}

// namedIDs is a JSON value with its ids as strings.
func namedIDs(raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(spelled(v, false))
	if err != nil {
		return raw
	}
	return out
}

// spelled is a decoded value with the numbers that are ids as strings.
func spelled(v any, id bool) any {
	switch v := v.(type) {
	case map[string]any:
		for k, field := range v {
			v[k] = spelled(field, k == "id" || strings.HasSuffix(k, "_id") || k == "ids" || k == "roles" || k == "values")
		}
	case []any:
		for i, item := range v {
			v[i] = spelled(item, id)
		}
	case json.Number:
		if id {
			return v.String()
		}
	}
	return v
}

// when reads a time; one that cannot be read is now.
func when(stamp string) time.Time {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return time.Now()
	}
	return t
}
