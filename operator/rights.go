package operator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/declaration"
)

// ErrMoreRights says that a new module wants more rights than the module that it replaces.
var ErrMoreRights = errors.New("it wants more rights than the running version: restart the operator to accept them")

// checkRights compares each module with the module that it replaces. It compares declared
// rights, not grants, because grants may be wide.
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
