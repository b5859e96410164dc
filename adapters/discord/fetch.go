package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"understudy/adapters/media"
	"understudy/core"
)

// filesAt are the hosts at which Discord keeps attachments.
var filesAt = []string{"cdn.discordapp.com", "media.discordapp.net"}

// newSource is where attachments are read from. Whoever has set another place
// for the API gets attachments from there, too. The bot token goes nowhere:
// the addresses themselves are signed.
func newSource(api string, client *http.Client) media.Source {
	hosts := filesAt
	if u, err := url.Parse(api); err == nil && u.Host != "" && api != defaultAPI {
		hosts = append([]string{u.Host}, filesAt...)
	}
	return media.Source{HTTP: client, Hosts: hosts}
}

// Fetch reads an attachment of a message. Addresses hold for a day; one that
// has run out is exchanged for a new one.
func (a *Adapter) Fetch(ctx context.Context, _ core.Thread, f core.Attachment, limit int64) (core.Attachment, error) {
	if expired(f.URL, time.Now()) {
		fresh, err := a.refreshed(ctx, f.URL)
		if err != nil {
			a.log.Warn("the address of an attachment has run out and there is no new one", "attachment", f.ID, "error", err)
		} else {
			f.URL = fresh
		}
	}
	return a.source.Fetch(ctx, f, limit)
}

// expired reports whether the time that is written in an address is over.
func expired(address string, now time.Time) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	end, err := strconv.ParseInt(u.Query().Get("ex"), 16, 64)
	return err == nil && now.Unix() >= end
}

// refreshed asks Discord for the address that an attachment has now.
// https://discord.com/developers/docs/reference#signed-attachment-cdn-urls
func (a *Adapter) refreshed(ctx context.Context, address string) (string, error) {
	got, err := a.rest.ask(ctx, urgentFirst, http.MethodPost, "attachments/refresh-urls", object{"attachment_urls": []string{address}})
	if err != nil {
		return "", err
	}
	list, err := read[struct {
		URLs []struct{ Refreshed string } `json:"refreshed_urls"`
	}](got.body)
	if err != nil {
		return "", fmt.Errorf("read the new address of an attachment: %w", err)
	}
	if len(list.URLs) == 0 || list.URLs[0].Refreshed == "" {
		return "", errors.New("there is no new address for the attachment")
	}
	return list.URLs[0].Refreshed, nil
}
