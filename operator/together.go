package operator

import (
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/registration"
)

// checkTogether refuses modules with different functions that have one id and can
// meet in one cause: each module was checked for this alone.
func checkTogether(modules []*host.Module) error {
	var handlers []abi.Handler
	for i, module := range modules {
		for _, h := range module.Registration().Handlers {
			h.Fn = fmt.Sprintf("%s of %s (module %d)", h.Fn, module.Name(), i+1)
			handlers = append(handlers, h)
		}
	}
	if err := registration.CheckTwins(handlers); err != nil {
		return fmt.Errorf("the modules cannot be one operator: %w", err)
	}
	return nil
}
