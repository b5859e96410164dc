package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"understudy/core"
)

func TestManifest(t *testing.T) {
	b, err := Manifest(core.Commands)
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Features.Commands) != len(core.Commands) || !m.Settings.SocketMode || !m.Features.AppHome.Messages {
		t.Errorf("manifest is %s", b)
	}
	for i, c := range m.Features.Commands {
		if c.Command == "/status" || commandName(c.Command) != core.Commands[i].Name || len(c.Command) > 32 {
			t.Errorf("%s is %s", core.Commands[i].Name, c.Command)
		}
	}
	if len(m.Features.Shortcuts) != len(shortcuts) {
		t.Errorf("shortcuts are %+v", m.Features.Shortcuts)
	}
	for _, s := range m.Features.Shortcuts {
		if s.Type != "message" || shortcuts[s.Callback] != s.Name || len(s.Name) > 24 || len(s.Description) > 150 {
			t.Errorf("shortcut is %+v", s)
		}
	}
	if !strings.Contains(string(b), `"messages_tab_read_only_enabled": false`) {
		t.Error("the messages tab may be read-only")
	}
}
