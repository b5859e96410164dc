package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"understudy/core/llm"
	"understudy/core/rescue"
)

// planted is a credential without the shape of one.
const planted = "plain words/of a+credential"

// TestNoOutputShowsACredential: what a command writes hides what this process
// knows, in each stream and form.
func TestNoOutputShowsACredential(t *testing.T) {
	setEnv(t, "ANTHROPIC_API_KEY="+planted)
	subcommands["shout"] = func(_ context.Context, c console, _ []string) error {
		log := logger(c.err, "info", "json")
		log.Info("said "+planted, "err", fmt.Errorf("wrapped: %w", errors.New(planted)), "half", planted[:14], "other", planted[14:], "list", []string{planted})
		fmt.Fprintln(c.out, url.QueryEscape(planted), base64.StdEncoding.EncodeToString([]byte("user:"+planted)))
		return errors.New("the key " + planted + " and sk-proj-abc123DEF456ghi789 are wrong")
	}
	subcommands["fall"] = func(context.Context, console, []string) error { panic(errors.New(planted)) }
	subcommands["stumble"] = func(_ context.Context, c console, _ []string) error {
		log := logger(c.err, "info", "text")
		var wg sync.WaitGroup
		wg.Go(func() {
			defer rescue.Panic(log, "a goroutine")
			panic(map[string]error{"with": errors.New("it was sent " + planted + " and sk-proj-abc123DEF456ghi789")})
		})
		wg.Wait()
		return errFailed
	}
	t.Cleanup(func() { delete(subcommands, "shout"); delete(subcommands, "fall"); delete(subcommands, "stumble") })
	for _, name := range []string{"shout", "fall", "stumble", planted} {
		out, errs, code := command(t, "", name)
		if code == 0 {
			t.Errorf("%s ended with 0", name)
		}
		if !strings.Contains(errs, "[secret]") {
			t.Errorf("%s: nothing is hidden in %s", name, errs)
		}
		for _, form := range []string{planted, planted[:14], planted[14:], url.QueryEscape(planted), "abc123DEF456",
			base64.StdEncoding.EncodeToString([]byte("user:" + planted))[12:30]} {
			if strings.Contains(out+errs, form) {
				t.Errorf("%s shows %q:\n%s%s", name, form, out, errs)
			}
		}
	}
}

// A path in the log is a path, however long the names in it are.
func TestTheLogNamesPaths(t *testing.T) {
	out := &output{}
	path := "/tmp/TestRunRefusesWhatIsWrong1873620945/001/store/understudy.db"
	logger(out, "info", "text").Info("running", "store", path)
	if !strings.Contains(out.String(), "store="+path) || llm.Mask(path) != path {
		t.Error(out.String())
	}
}
