package discord

import (
	"strings"
	"testing"
)

// Each refusal for want of a permission names that permission.
func TestHelpNamesThePermission(t *testing.T) {
	for _, x := range []struct {
		route string
		code  int
		want  string
	}{
		{"POST channels/1/messages", codeMissingPermissions, "Send Messages"},
		{"POST channels/1/typing", codeMissingPermissions, "Send Messages"},
		{"POST channels/1/messages/2/threads", codeMissingPermissions, "Create Public Threads"},
		{"GET channels/1/messages", codeMissingPermissions, "Read Message History"},
		{"PATCH channels/1", codeMissingPermissions, "Manage Threads"},
		{"GET channels/1", codeMissingAccess, "View Channel"},
		{"POST channels/1/messages", codeThreadLocked, "Manage Threads"},
	} {
		failed := sendError(&refusal{route: x.route, status: 403, code: x.code}, true)
		if !failed.Permanent || !strings.Contains(failed.Help, x.want) {
			t.Errorf("%s with %d: %+v", x.route, x.code, failed)
		}
	}
}
