package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// harmless are the goroutines that need no rescue, by file and function, with
// the reason: they only wait, or handle nothing from outside, or what they call
// is rescued itself.
var harmless = map[string]string{
	"adapters/discord/backfill.go round": "survive",
	"adapters/discord/run.go spawn":      "survive",
	"adapters/discord/lanes.go advance":  "counts requests of this process",
	"adapters/discord/lanes.go arm":      "counts requests of this process",
	"adapters/discord/standing.go news":  "words an alert",
	"adapters/slack/intake.go newIntake": "do rescues each job",
	"adapters/slack/intake.go start":     "survive",
	"adapters/slack/names.go entry":      "fetchPerson is rescued",
	"adapters/slack/recall.go catchUp":   "survive",
	"adapters/slack/socket.go part":      "closes a connection",
	"adapters/slack/socket.go read":      "closes a connection",
	"adapters/terminal/terminal.go Run":  "reads the keyboard",
	"adapters/web/web.go Run":            "closes the server",
	"cmd/understudy/clock.go newClock":   "only waits",
	"cmd/understudy/house.go open":       "send is rescued",
	"cmd/understudy/serve.go live":       "answer is rescued",
	"cmd/understudy/serve.go signals":    "only waits",
	"core/delivery/sender.go Send":       "work is rescued",
	"core/delivery/sender.go begin":      "work is rescued",
	"core/delivery/working.go Working":   "indicate is rescued",
	"core/linger.go Linger":              "only waits",
	"core/delivery/writer.go Text":       "stream is rescued",
	"core/llm/deadline.go deadline":      "cancels a request",
	"sessions/bot.go Stop":               "only waits",
	"sessions/pairing.go watchGuests":    "lookAfterGuests is rescued",
	"sessions/summarise.go ask":          "only waits",
	"sessions/toolrun.go runTool":        "only waits; the tool has its own recover",
	"sessions/turn.go turn":              "only waits",
	"store/store.go open":                "loop is rescued",
	"store/memory/memory.go enter":       "for tests",
}

// TestGoroutinesAreRescued: what the runtime writes of a panic that nobody
// catches is masked by nobody. So each goroutine of the product defers a rescue
// at its beginning, or stands in the table with the reason why not.
func TestGoroutinesAreRescued(t *testing.T) {
	root := filepath.Join("..", "..")
	unused := map[string]bool{}
	for place := range harmless {
		unused[place] = true
	}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if n := d.Name(); n != ".." && strings.HasPrefix(n, ".") || strings.HasSuffix(n, "test") || n == "testdata" || n == "understudy-fakes" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			place := rel + " " + fn.Name.Name
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				body, started := goroutine(n)
				switch {
				case !started || rescued(body):
				case harmless[place] != "":
					delete(unused, place)
				default:
					t.Errorf("%s: a goroutine begins without a rescue; defer one of package rescue in it first, or enter %q with a reason", fset.Position(n.Pos()), place)
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for place := range unused {
		t.Errorf("%s starts no goroutine that needs a reason", place)
	}
}

// goroutine reports whether a node starts one, and what it runs, if that stands
// there.
func goroutine(n ast.Node) (body *ast.BlockStmt, started bool) {
	var run ast.Expr
	switch n := n.(type) {
	case *ast.GoStmt:
		run = n.Call.Fun
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Go" && sel.Sel.Name != "AfterFunc" || len(n.Args) == 0 {
			return nil, false
		}
		run = n.Args[len(n.Args)-1]
	default:
		return nil, false
	}
	if lit, ok := run.(*ast.FuncLit); ok {
		body = lit.Body
	}
	return body, true
}

// rescued reports whether a body begins with deferred calls, of which one is a
// rescue.
func rescued(body *ast.BlockStmt) bool {
	if body == nil {
		return false
	}
	for _, s := range body.List {
		d, ok := s.(*ast.DeferStmt)
		if !ok {
			return false
		}
		if sel, ok := d.Call.Fun.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "rescue" {
				return true
			}
		}
	}
	return false
}

// The rule itself must see what breaks it.
func TestTheRuleForGoroutinesSees(t *testing.T) {
	for text, want := range map[string]bool{
		"go f()": false, "go func() { f() }()": false, "go func() { defer rescue.Panic(log, `x`); f() }()": true,
		"wg.Go(f)": false, "wg.Go(func() { f(); defer rescue.Panic(log, `x`) })": false,
		"group.Go(func() (err error) { defer done(); defer rescue.Error(&err, log, `x`); return f() })": true,
		"time.AfterFunc(d, func() { defer other.Panic(log, `x`) })":                                     false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package x\nfunc y() { "+text+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := false
		ast.Inspect(f, func(n ast.Node) bool {
			if body, started := goroutine(n); started {
				seen = true
				if rescued(body) != want {
					t.Errorf("%s is taken for rescued: %v", text, !want)
				}
			}
			return true
		})
		if !seen {
			t.Errorf("%s is not seen", text)
		}
	}
}
