package discordtest

import (
	"fmt"
	"slices"
)

// Row is an action row of components.
type Row struct{ Components []Component }

// Component is a menu or button.
type Component = component

type component struct {
	Type        int
	Style       int
	Label       string
	URL         string
	Emoji       any
	Disabled    bool
	CustomID    string `json:"custom_id"`
	Placeholder string
	Options     []Option
	Components  []component
}

// Option is one entry of a select menu.
type Option struct {
	Label, Value, Description string
	Default                   bool
}

// The types of components.
const (
	actionRow  = 1
	buttonType = 2
	selectType = 3
	linkStyle  = 5
	lastSelect = 8
)

func rows(all []component) []Row {
	var out []Row
	for _, r := range all {
		out = append(out, Row{Components: r.Components})
	}
	return out
}

// checkComponents holds components to the platform's limits. The paths of the
// errors lead to the field, as the platform's do.
func checkComponents(all []component, second bool) *apiError {
	if len(all) > 5 && !second {
		return invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
	}
	seen := map[string]bool{}
	for i, row := range all {
		path := fmt.Sprintf("components.%d", i)
		if row.Type != actionRow {
			if second {
				continue
			}
			return invalid(path+".type", "UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (1,).")
		}
		if e := checkRow(path+".components", row.Components, seen); e != nil {
			return e
		}
	}
	return nil
}

func checkRow(path string, row []component, seen map[string]bool) *apiError {
	if len(row) < 1 || len(row) > 5 {
		return invalid(path, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
	}
	for i, c := range row {
		at := fmt.Sprintf("%s.%d", path, i)
		menu := c.Type >= selectType && c.Type <= lastSelect && c.Type != 4
		switch {
		case c.Type != buttonType && !menu:
			return invalid(at+".type", "UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (2, 3, 5, 6, 7, 8).")
		case menu && len(row) > 1:
			return invalid(at, "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width")
		case c.Type == buttonType && c.Style == linkStyle:
			if e := checkLabel(at, c); e != nil {
				return e
			}
			continue
		case !between(c.CustomID, 1, 100):
			return invalid(at+".custom_id", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
		case seen[c.CustomID]:
			return invalid(at+".custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
		}
		seen[c.CustomID] = true
		e := checkLabel(at, c)
		if c.Type == selectType {
			e = checkMenu(at, c)
		}
		if e != nil {
			return e
		}
	}
	return nil
}

func checkLabel(at string, c component) *apiError {
	switch {
	case c.Type != buttonType:
		return nil
	case c.Style < 1 || c.Style > linkStyle:
		return invalid(at+".style", "BASE_TYPE_CHOICES", "Value must be one of (1, 2, 3, 4, 5, 6).")
	case c.Style == linkStyle && c.URL == "":
		return invalid(at+".url", "BASE_TYPE_REQUIRED", "This field is required")
	case !between(c.Label, 0, 80):
		return invalid(at+".label", "BASE_TYPE_MAX_LENGTH", "Must be 80 or fewer in length.")
	case c.Label == "" && c.Emoji == nil:
		return invalid(at+".label", "BASE_TYPE_REQUIRED", "A label or emoji is required")
	}
	return nil
}

func checkMenu(at string, c component) *apiError {
	if len(c.Options) < 1 || len(c.Options) > 25 {
		return invalid(at+".options", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 25 in length.")
	}
	if !between(c.Placeholder, 0, 150) {
		return invalid(at+".placeholder", "BASE_TYPE_MAX_LENGTH", "Must be 150 or fewer in length.")
	}
	var values []string
	picked := 0
	for i, o := range c.Options {
		path := fmt.Sprintf("%s.options.%d.", at, i)
		switch {
		case !between(o.Label, 1, 100):
			return invalid(path+"label", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
		case !between(o.Value, 1, 100):
			return invalid(path+"value", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
		case !between(o.Description, 0, 100):
			return invalid(path+"description", "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer in length.")
		case slices.Contains(values, o.Value):
			return invalid(path+"value", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used")
		}
		values = append(values, o.Value)
		if o.Default {
			picked++
		}
	}
	if picked > 1 {
		return invalid(at+".options", "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES", "There are more default options than values that can be picked")
	}
	return nil
}
