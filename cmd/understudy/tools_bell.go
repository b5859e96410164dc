//go:build bell

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"understudy/core/llm"
	"understudy/core/tool"
)

// moreTools, in a program that only TestCrashes builds, are a tool whose effect
// is seen outside: each run rings a bell, which counts.
func moreTools() []tool.Tool { return []tool.Tool{bell{}} }

type bell struct{}

func (bell) Spec() llm.Tool {
	return llm.Tool{Name: "ring", Description: "Rings the bell at an address.", Schema: json.RawMessage(
		`{"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}`)}
}

func (bell) Run(ctx context.Context, call tool.Call) (string, error) {
	var args struct{ URL string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return "", fmt.Errorf("the arguments: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, args.URL, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return resp.Status, nil
}
