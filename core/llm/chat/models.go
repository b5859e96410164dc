package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"understudy/core/llm"
)

var _ llm.Lister = (*client)(nil)

// Models asks for the list of models.
func (c *client) Models(ctx context.Context) ([]string, error) {
	attempt := c.cfg.Transport.Attempt(llm.Secrets(c.cfg.Key.Reveal(), c.cfg.Header)...)
	defer attempt.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.listed, nil)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	c.identify(r)
	resp, err := attempt.Do(r)
	if err != nil {
		return nil, attempt.ListError(c.cfg.Provider, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, attempt.ListError(c.cfg.Provider, nil)
	}
	var page struct {
		Data []struct{ ID string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		return nil, attempt.ListError(c.cfg.Provider, nil)
	}
	var list []string
	for _, m := range page.Data {
		list = append(list, m.ID)
	}
	return list, nil
}
