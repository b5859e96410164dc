package anthropic

import (
	"context"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"understudy/core/llm"
)

// listLimit is the most models that one page of the list has.
// https://docs.anthropic.com/en/api/models-list
const listLimit = 1000

var _ llm.Lister = (*client)(nil)

// Models asks for the list of models, which is one page.
func (c *client) Models(ctx context.Context) ([]string, error) {
	attempt := c.cfg.Transport.Attempt(llm.Secrets(c.cfg.Key.Reveal(), c.cfg.Header)...)
	defer attempt.Close()
	page, err := c.models.List(ctx, sdk.ModelListParams{Limit: param.NewOpt[int64](listLimit)},
		append([]option.RequestOption{option.WithHTTPClient(attempt)}, c.options...)...)
	if err != nil {
		return nil, attempt.ListError(c.cfg.Provider, transportError(err))
	}
	var list []string
	for _, m := range page.Data {
		list = append(list, m.ID)
	}
	return list, nil
}
