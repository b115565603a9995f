package operator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/declaration"
)

// ErrMoreRights is in the errors of modules that want more than those before them.
var ErrMoreRights = errors.New("it wants more rights than what runs, and is held back until the operator is restarted")

// checkRights refuses modules that want more than those that they replace, one by one. What was
// granted does not matter: that may be wide.
//
// Errors: ErrMoreRights.
func checkRights(before, after []*host.Module) error {
	var more []string
	for i, module := range after {
		more = append(more, declaration.More(before[i].Registration(), module.Registration())...)
	}
	if len(more) > 0 {
		return fmt.Errorf("%w: %s", ErrMoreRights, strings.Join(more, "; "))
	}
	return nil
}
