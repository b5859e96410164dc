package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"understudy/core"
	"understudy/core/rescue"
)

// intents are what the bot needs to hear: guilds and their threads, messages
// there and in private, and what they say.
const intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages |
	discordgo.IntentDirectMessages | discordgo.IntentMessageContent

// pacing are the times that connecting takes; tests shorten them.
type pacing struct {
	open     time.Duration   // to connect and be greeted
	retry    []time.Duration // before each further attempt; the last repeats
	healthy  time.Duration   // a connection that lived so long starts the schedule again
	invalid  time.Duration   // the least wait after Discord ended a session; at most five times that
	starts   time.Duration   // in which Discord lets so many sessions begin as it says
	worry    time.Duration   // without a connection until the operator is told
	register time.Duration   // between attempts to register the commands
	admit    []time.Duration // between offers of a message that could not be stored
	entry    time.Duration   // to find out who may give a command; Discord waits for three seconds
}

var usualPace = pacing{
	open:     30 * time.Second,
	retry:    []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute},
	healthy:  time.Minute,
	invalid:  time.Second,
	starts:   5250 * time.Millisecond, // five seconds, and what they may vary on the way
	worry:    2 * time.Minute,
	register: 20 * time.Second,
	admit: []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second,
		8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute},
	entry: 2 * time.Second,
}

// before is the wait before a further attempt after so many that failed.
func (p pacing) before(failures int) time.Duration {
	wait := p.retry[min(failures, len(p.retry)-1)]
	return wait + rand.N(wait/4+1)
}

// pause waits for the next attempt of a connection and says so. It reports
// false when the context ended.
func (r *run) pause(ctx context.Context, shard int, wait time.Duration, err error) bool {
	r.stand.down(shard, time.Now().Add(wait), err)
	r.log.Warn("not connected to Discord; connecting again", "shard", shard, "error", err, "wait", wait.Round(time.Millisecond))
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// errUsedUp is why no session can be begun for hours.
var errUsedUp = errors.New("the bot has connected as often as Discord allows in a day")

// errReshard is the end of a connection for which Discord wants more shards.
var errReshard = errors.New("more shards are asked for")

// connect keeps the account connected, over as many shards as Discord asks for,
// until the context ends or Discord refuses it for good.
func (r *run) connect(ctx context.Context) error {
	for before := 0; ; {
		count, err := r.shardCount(ctx)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if count <= before {
			return &FatalError{Code: closeSharding, Text: fatalCodes[closeSharding]}
		}
		before = count
		r.reshard(count)
		err = r.runShards(ctx, count)
		if !errors.Is(err, errReshard) || ctx.Err() != nil {
			return err
		}
		r.log.Warn("Discord asks for more shards; connecting all anew", "shards", count)
		if !r.pause(ctx, 0, r.pace.before(0), err) {
			return nil
		}
	}
}

// shardCount asks how many shards Discord wants, until it answers.
func (r *run) shardCount(ctx context.Context) (int, error) {
	for failures := 0; ; failures++ {
		info, err := r.starts.ask(ctx)
		if err == nil {
			return int(min(max(info.Shards, 1), maxShards)), nil
		}
		if f := fatal(err); f != nil {
			return 0, f
		}
		if ctx.Err() != nil || !r.pause(ctx, 0, r.pace.before(failures), err) {
			return 0, nil
		}
	}
}

// runShards runs all shards until the first of them ends.
func (r *run) runShards(ctx context.Context, count int) error {
	r.stand.split(count)
	group, ctx := errgroup.WithContext(ctx)
	for id := range count {
		group.Go(func() (err error) {
			defer rescue.Error(&err, r.log, "a shard")
			s := &shard{run: r, id: id, count: count}
			return s.keep(ctx)
		})
	}
	return group.Wait()
}

// starts lets sessions begin no faster and no more often than Discord allows;
// a bot that begins more of them than that loses its token.
type starts struct {
	run *run

	mu    sync.Mutex
	info  gatewayInfo
	asked time.Time
	used  int // sessions begun since then
	turns map[int]*startTurn
}

// startTurn is the turn to begin a session, one after the other.
type startTurn struct {
	held chan struct{}
	next time.Time
}

const (
	infoAge    = time.Minute // what Discord said about its gateway is not asked again
	maxReset   = 24 * time.Hour
	maxShards  = 10000       // more guilds than Discord has bots for
	shortReset = time.Minute // when Discord does not say when it lets sessions begin again
)

// ask asks Discord where its gateway is and how it wants to be used.
func (s *starts) ask(ctx context.Context) (gatewayInfo, error) {
	got, err := s.run.rest.ask(ctx, urgentFirst, http.MethodGet, "gateway/bot", nil)
	if err != nil {
		return gatewayInfo{}, fmt.Errorf("connect to Discord: %w", err)
	}
	var info gatewayInfo
	if err := json.Unmarshal(got.body, &info); err != nil {
		return gatewayInfo{}, fmt.Errorf("connect to Discord: read where the gateway is: %w", err)
	}
	if s.run.config.GatewayURL != "" {
		info.URL = word(s.run.config.GatewayURL)
	}
	if info.URL == "" {
		return gatewayInfo{}, errors.New("connect to Discord: it does not say where the gateway is")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info, s.asked, s.used = info, time.Now(), 0
	return info, nil
}

// address is where the gateway is.
func (s *starts) address(ctx context.Context) (string, error) {
	info, _, err := s.fresh(ctx)
	return string(info.URL), err
}

// fresh is what Discord said lately, and how many sessions may begin; negative
// when it did not say.
func (s *starts) fresh(ctx context.Context) (info gatewayInfo, left int, err error) {
	s.mu.Lock()
	info, left = s.info, s.left()
	old := s.asked.IsZero() || time.Since(s.asked) > infoAge || left == 0
	s.mu.Unlock()
	if !old {
		return info, left, nil
	}
	if info, err = s.ask(ctx); err != nil {
		return info, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info, s.left(), nil
}

// left is how many sessions may begin. The lock is held.
func (s *starts) left() int {
	if s.info.Starts.Remaining == nil {
		return -1
	}
	return max(int(*s.info.Starts.Remaining)-s.used, 0)
}

// enter waits for a shard's turn to begin a session. It ends with done, which
// is told whether the session was begun; only the first call counts.
func (s *starts) enter(ctx context.Context, shard int) (address string, done func(sent bool), err error) {
	info, _, err := s.fresh(ctx)
	if err != nil {
		return "", nil, err
	}
	t := s.turn(shard % max(int(info.Starts.MaxConcurrency), 1))
	select {
	case t.held <- struct{}{}:
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	var once sync.Once
	done = func(sent bool) {
		once.Do(func() {
			if sent {
				t.next = time.Now().Add(s.run.pace.starts)
				s.mu.Lock()
				s.used++
				s.mu.Unlock()
			}
			<-t.held
		})
	}
	if info, err = s.quota(ctx, shard); err == nil {
		select {
		case <-time.After(time.Until(t.next)):
			return string(info.URL), done, nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	done(false)
	return "", nil, err
}

func (s *starts) turn(n int) *startTurn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns[n] == nil {
		s.turns[n] = &startTurn{held: make(chan struct{}, 1)}
	}
	return s.turns[n]
}

// quota waits until Discord lets sessions begin at all.
func (s *starts) quota(ctx context.Context, shard int) (gatewayInfo, error) {
	told := false
	for {
		info, left, err := s.fresh(ctx)
		if err != nil || left != 0 {
			if told && err == nil {
				s.alert("new sessions may begin again", true)
			}
			return info, err
		}
		wait := time.Duration(info.Starts.ResetAfter) * time.Millisecond
		if wait <= 0 || wait > maxReset {
			wait = shortReset
		} else {
			wait += time.Millisecond // Discord leaves out the rest of one: to ask within it is to wait once more
		}
		if !told {
			told = true
			s.run.stand.waits(shard, time.Now().Add(wait), errUsedUp)
			s.alert(fmt.Sprintf("%v; it waits %v. Look for what makes it start so often", errUsedUp, wait.Round(time.Second)), false)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return info, ctx.Err()
		}
	}
}

func (s *starts) alert(text string, over bool) {
	s.run.log.Warn(text)
	a := s.run.Adapter
	a.alert(core.Alert{Kind: "sessions", Key: a.name(), Text: a.name() + ": " + text, Over: over})
}
