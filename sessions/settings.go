package sessions

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/tool"
	"understudy/notices"
)

// Settings are what the configuration says to the sessions. A turn works with
// the settings that held when it began. Treat a value as read-only once it was
// handed over.
type Settings struct {
	// Agents by id. "main" is the agent of every place without another.
	Agents map[string]Agent
	// Bind chooses the agent of a place; nil is always "main".
	Bind func(core.Message) string
	// PerUser gives everybody a session of their own in shared places.
	PerUser bool
	// Override is the model of a one-off command; zero elsewhere.
	Override llm.Ref
	// Aliases are short names for models.
	Aliases map[string]llm.Ref
	// Offered are the models that /models lists, in order.
	Offered []llm.Ref
	// Allow limits what people may pick: exact refs, or prefixes that end in
	// "*". Empty allows every model of a configured provider.
	Allow []string
	// ModelAdmins limits choosing a model to admins.
	ModelAdmins bool
	// Unknown says why there cannot be such a model, or "".
	Unknown func(llm.Ref) string
	// Sees reports whether a model reads images, and Window is how many tokens
	// a request to it may hold.
	Sees   func(llm.Ref) bool
	Window func(llm.Ref) int
	// Profiles gives what is known about the profiles of a provider, for
	// /model and /status.
	Profiles func(agent, provider string) (failover.Profiles, error)
	// Admin reports whether somebody is an admin.
	Admin func(platform string, a core.Author) bool
	// Answer says when unaddressed messages are answered.
	Answer  Engagement
	Notices notices.Policies
	ReplyTo delivery.Mode
	// Streaming shows answers while they are written.
	Streaming bool
	// Threads reports whether messages in a channel are answered in threads of
	// their own; nil is nowhere.
	Threads func(core.Thread) bool
	// Place gives what differs from these four in a place; nil is nothing.
	Place func(core.Thread) Manner

	// Repost: an answer that was written for so long is posted anew at its end,
	// in place of its preview. Zero is never.
	Repost time.Duration
	// SeedMessages is how many of the messages that were said in a thread before
	// the bot came there it reads; zero is none.
	SeedMessages int
	// MaxAttachment is the largest file that is read, in bytes; zero is 20 MiB.
	MaxAttachment int64
	// Price is what a model costs; nil is not known.
	Price func(llm.Ref) *llm.Price
	// KeepDeleted: a message that was deleted on its platform stays in the
	// transcript.
	KeepDeleted bool
	// Retention is how long what was said is told to models, and no summary tells
	// of it for longer; zero is for ever.
	Retention time.Duration
	// Quotas limit what may be used in a day.
	Quotas Quotas
	// PDFs reports whether a model reads documents; nil is none.
	PDFs func(llm.Ref) bool
	// Transcribe turns a voice message into text; nil where no model is
	// configured for that.
	Transcribe func(context.Context, core.Attachment) (string, error)

	// CompactionModel writes the summaries; zero is the session's own chain.
	CompactionModel llm.Ref

	MaxToolRounds int           // model calls that may be followed by tools in one turn
	TurnTimeout   time.Duration // a whole turn, waits included
	ToolTimeout   time.Duration // one tool call
	// CompactionTimeout bounds one request for a summary; zero is no bound.
	CompactionTimeout time.Duration
}

// Manner is how the bot behaves in one place; an empty field is as elsewhere.
type Manner struct {
	Answer    Engagement
	ReplyTo   delivery.Mode
	Notices   notices.Policy
	Streaming *bool
}

func (s *Settings) place(t core.Thread) Manner {
	if s.Place == nil {
		return Manner{}
	}
	return s.Place(t)
}

func (s *Settings) answer(t core.Thread) Engagement { return cmp.Or(s.place(t).Answer, s.Answer) }

func (s *Settings) replyTo(t core.Thread) delivery.Mode { return cmp.Or(s.place(t).ReplyTo, s.ReplyTo) }

func (s *Settings) notices(t core.Thread) notices.Policy {
	return cmp.Or(s.place(t).Notices, s.Notices.For(t.Kind))
}

// Wants reports whether people may be shown a post. It is asked once more right
// before a post goes out: a notice may have waited since people were told of
// models there.
func (s *Settings) Wants(p core.Post) bool {
	return p.Kind != core.PostNotice || s.notices(p.Target.Thread) == notices.Reply
}

func (s *Settings) streaming(t core.Thread) bool {
	if on := s.place(t).Streaming; on != nil {
		return *on
	}
	return s.Streaming
}

// Agent is one configured personality.
type Agent struct {
	Policy      failover.Policy // Defaults are filled in for every agent
	Image       failover.Models // for messages with images, where the model sees none
	System      string
	Temperature *float64
	MaxTokens   int
	Tools       []tool.Tool
	// Picks takes the place of [Settings.Allow] where this agent talks, if it
	// has a Key.
	Picks Picks
}

// Picks are the models that people may pick, as in [Settings.Allow]; Key is the
// setting that says so.
type Picks struct {
	Key    string
	Models []string
}

// Engagement says which messages in shared places are answered.
type Engagement string

// The engagements.
const (
	AlwaysMention Engagement = "always"        // only when addressed
	UntilEngaged  Engagement = "until-engaged" // and in threads where the bot was addressed before; the default
	NeverMention  Engagement = "never"         // everything
)

func (s *Settings) agentOf(m core.Message) string {
	if s.Bind != nil {
		if id := s.Bind(m); id != "" {
			return id
		}
	}
	return "main"
}

// key is the session of a message, or of a command, in a place.
func (s *Settings) key(m core.Message, place core.Thread) core.Key {
	k := core.Key{Agent: s.agentOf(m), Thread: place.Key()}
	if s.PerUser && place.Shared() {
		k.Thread = place.KeyFor(m.Author.ID)
	}
	return k
}

func (s *Settings) agent(id string) Agent {
	if a, ok := s.Agents[id]; ok {
		return a
	}
	return s.Agents["main"]
}

// allowed reports whether people may pick the model where an agent talks, and
// why not.
func (s *Settings) allowed(agent string, r llm.Ref) (why string, ok bool) {
	if why := s.Unknown(r); why != "" {
		return why, false
	}
	picks := s.agent(agent).Picks
	if picks.Key == "" {
		picks = Picks{"modelPolicy.allow", s.Allow}
	}
	if len(picks.Models) == 0 {
		return "", true
	}
	name := r.String()
	for _, a := range picks.Models {
		if p, star := strings.CutSuffix(a, "*"); name == a || star && strings.HasPrefix(name, p) {
			return "", true
		}
	}
	return picks.Key + " does not list it", false
}

// find reads what a user may write for a model: a number of the list, an
// alias, or a full ref.
func (s *Settings) find(word string) (llm.Ref, bool) {
	if r, ok := s.Aliases[strings.ToLower(word)]; ok {
		return r, true
	}
	if n := atoi(word); n >= 1 && n <= len(s.Offered) {
		return s.Offered[n-1], true
	}
	if !strings.Contains(word, "/") {
		// A bare model name is understood where only one model has it.
		var found []llm.Ref
		for _, r := range s.Offered {
			if strings.EqualFold(r.Model, word) {
				found = append(found, r)
			}
		}
		if len(found) == 1 {
			return found[0], true
		}
		return llm.Ref{}, false
	}
	return llm.ParseRef(word)
}

// Nearest are the n offered models and aliases closest to what was written.
func (s *Settings) Nearest(word string, n int) []string {
	word = strings.ToLower(word)
	type scored struct {
		name  string
		score int
	}
	var list []scored
	add := func(name, against string) {
		list = append(list, scored{name, distance(word, strings.ToLower(against))})
	}
	for _, r := range s.Offered {
		if strings.Contains(word, "/") {
			add(r.String(), r.String())
		} else {
			add(r.String(), r.Model)
		}
	}
	for _, a := range sortedKeys(s.Aliases) {
		add(a, a)
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var names []string
	for _, x := range list[:min(n, len(list))] {
		names = append(names, x.name)
	}
	return names
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' || n > 1e6 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// distance is the number of single-letter changes between two words, counted
// over at most 80 bytes of each.
func distance(a, b string) int {
	a, b = a[:min(len(a), 80)], b[:min(len(b), 80)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diag, row[j] = row[j], min(row[j]+1, row[j-1]+1, diag+cost)
		}
	}
	return row[len(b)]
}
