package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// rooms are the arrows of docs/architecture.md: what each room may import of
// the house. A room with a star holds for the folders in it, too.
var rooms = map[string][]string{
	"core":               {},
	"core/llm":           {},
	"core/llm/anthropic": {"core", "core/llm"},
	"core/llm/chat":      {"core", "core/llm"},
	"core/llm/script":    {"core", "core/llm"},
	"core/llm/llmtest":   {"core/llm"},
	"core/failover":      {"core/llm", "core/rescue"},
	"core/delivery":      {"core", "core/rescue"},
	"core/auth":          {"core", "core/llm", "core/failover"},
	"core/tool":          {"core", "core/llm"},
	"core/seal":          {"core"},
	"core/rescue":        {},
	"notices":            {"core", "core/llm", "core/failover", "core/delivery"},
	"admin":              {"core", "core/llm", "core/failover", "core/delivery", "core/rescue", "notices"},
	"sessions":           {"core", "core/llm", "core/failover", "core/delivery", "core/rescue", "core/tool", "notices"},
	"store":              {"core", "core/llm", "core/failover", "core/delivery", "core/rescue", "core/seal", "notices", "sessions"},
	"store/memory":       {"core", "core/llm", "core/failover", "core/delivery", "notices", "sessions"},
	"store/storetest":    {"core", "core/llm", "core/failover", "core/delivery", "notices", "sessions"},

	"adapters/media":               {"core"},
	"adapters/discord":             {"core", "core/rescue", "adapters/media"},
	"adapters/discord/discordtest": {"core"},
	"adapters/slack":               {"core", "core/rescue", "adapters/media"},
	"adapters/slack/slacktest":     {"core"},
	"adapters/terminal":            {"core"},
	"adapters/web":                 {"core", "core/failover", "core/delivery", "notices", "sessions"},

	"cmd/understudy":       {"*"},
	"cmd/understudy-fakes": {"*"},
}

// owners are the rooms that may import a module of somebody else's, outside of
// tests.
var owners = map[string][]string{
	"github.com/bwmarrin/discordgo":          {"adapters/discord"},
	"github.com/slack-go/slack":              {"adapters/slack"},
	"github.com/gorilla/websocket":           {"adapters/discord", "adapters/discord/discordtest", "adapters/slack", "adapters/slack/slacktest"},
	"modernc.org/sqlite":                     {"store"},
	"golang.org/x/sys":                       {"store", "cmd/understudy"},
	"golang.org/x/time":                      {"adapters/discord", "adapters/slack"},
	"golang.org/x/sync":                      {"adapters/discord", "adapters/slack"},
	"github.com/kelseyhightower/envconfig":   {"cmd/understudy"},
	"github.com/tailscale/hujson":            {"cmd/understudy"},
	"github.com/anthropics/anthropic-sdk-go": {"core/llm/anthropic"},
	"github.com/openai/openai-go":            {"core/llm/chat"},
	// Tests only, in any room.
	"pgregory.net/rapid": nil,
	"go.uber.org/goleak": nil,
	"golang.org/x/tools": nil,
}

// testImports are arrows that only tests may follow.
var testImports = map[string][]string{
	"core/llm/anthropic": {"core/llm/llmtest"},
	"core/llm/chat":      {"core/llm/llmtest"},
	"core/llm/script":    {"core/llm/llmtest"},
	"store":              {"store/storetest", "store/memory"},
	"store/memory":       {"store/storetest"},
	"adapters/discord":   {"adapters/discord/discordtest"},
	"adapters/slack":     {"adapters/slack/slacktest"},
	"sessions":           {"store/memory", "core/llm/script"},
	"admin":              {"store/memory"},
}

func TestImportsFollowTheArrows(t *testing.T) {
	root := filepath.Join("..", "..")
	fset := token.NewFileSet()
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n != ".." && strings.HasPrefix(n, ".") || n == "testdata" || n == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		room := path.Dir(filepath.ToSlash(rel))
		may, ok := rooms[room]
		if !ok {
			t.Errorf("%s: the folder %s is no room of the house", rel, room)
			return nil
		}
		seen[room] = true
		f, err := parser.ParseFile(fset, p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		isTest := strings.HasSuffix(p, "_test.go") || strings.HasSuffix(room, "test")
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			checkImport(t, rel, room, name, may, isTest)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range rooms {
		if !seen[room] {
			if _, err := os.Stat(filepath.Join(root, room)); err != nil {
				t.Errorf("the room %s is in the table but not in the house", room)
			}
		}
	}
}

func checkImport(t *testing.T, file, room, name string, may []string, isTest bool) {
	t.Helper()
	if in, ok := strings.CutPrefix(name, "understudy/"); ok {
		if in == room || contains(may, "*") || contains(may, in) || isTest && contains(testImports[room], in) {
			return
		}
		t.Errorf("%s: %s may not import %s", file, room, in)
		return
	}
	if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") {
		return // standard library
	}
	for module, rooms := range owners {
		if name == module || strings.HasPrefix(name, module+"/") {
			if isTest || contains(rooms, room) {
				return
			}
			t.Errorf("%s: %s does not own %s", file, room, module)
			return
		}
	}
	t.Errorf("%s: %s has no owner; give it one in the table", file, name)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
