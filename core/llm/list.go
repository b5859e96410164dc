package llm

import (
	"context"
	"fmt"
	"strings"
)

// Lister is a client whose provider tells which models it has.
type Lister interface {
	// Models are the names of the models that the credential may use, as the
	// provider writes them. That costs nothing and is no model call. The error
	// is for the log; many a server has no such list.
	Models(context.Context) ([]string, error)
}

// ListError says why a list of models was not given: err is what the transport
// or the SDK said, nil when the answer itself is the failure. It holds nothing
// of the answer, and no secret.
func (a *Attempt) ListError(provider string, err error) error {
	problem := "the answer is no list of models"
	switch {
	case err != nil:
		problem = string(a.Hide([]byte(err.Error())))
	case a.status < 200 || a.status > 299:
		problem = fmt.Sprintf("status %d", a.status)
	}
	return fmt.Errorf("listing the models of %s: %s", provider, problem)
}

// Lists reports whether a list of a provider's models holds a model. Providers
// list some models with their date or variant and take them without, or the
// other way round; those count as listed.
func Lists(list []string, model string) bool {
	want := listed(model)
	short, _, _ := strings.Cut(want, ":")
	short = strings.TrimSuffix(short, "-latest")
	for _, have := range list {
		have = listed(have)
		if have == want || have == short || strings.HasPrefix(have, short+"-") || strings.HasPrefix(have, short+":") {
			return true
		}
	}
	return false
}

// listed is a name as lists are compared.
func listed(model string) string { return strings.TrimPrefix(strings.ToLower(model), "models/") }
