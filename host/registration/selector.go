package registration

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/abi/options"
)

// checkSelector refuses selectors that select nothing, or that select in two ways.
//
// Kopf: kopf._cogs.structs.references.Selector (v1.45).
func checkSelector(h *abi.Handler) error {
	resource, _ := options.Find("resource")
	switch {
	case !resource.Has(h.Kind):
		return nil
	case h.Resource == nil:
		return errors.New("option resource is required")
	}
	if err := checkParts(h.Resource); err != nil {
		return fmt.Errorf("option resource: %w", err)
	}
	return nil
}

// maxArgs is the number of positional arguments: group, version, name.
const maxArgs = 3

func checkParts(s *abi.Selector) error {
	names := 0
	for _, name := range []string{s.Kind, s.Plural, s.Singular, s.Shortcut, s.Category} {
		if name != "" {
			names++
		}
	}
	if len(s.Args) > 0 {
		names++
	}
	if s.Function {
		names++
	}
	switch {
	case len(s.Args) > maxArgs:
		return fmt.Errorf("%d arguments; at most %d", len(s.Args), maxArgs)
	case names > 1:
		return errors.New("ambiguous: several names")
	case names == 0:
		return errors.New("unspecific: no name")
	}
	return checkArgs(s.Args)
}

// checkArgs checks the positional arguments.
func checkArgs(args []abi.Raw) error {
	for i, raw := range args {
		last := i == len(args)-1
		if last && markerOf(raw) == "EVERYTHING" {
			return nil
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil || raw.IsNull() {
			return fmt.Errorf("argument %d is not a string", i+1)
		}
		if last && text == "" {
			return errors.New("the name is empty")
		}
	}
	return nil
}
