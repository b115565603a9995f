package operator

import (
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/registration"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// checkTogether refuses guests that register different functions under one id for the same
// cause. Each module was checked only for itself.
func checkTogether(guests []guests.Guest) error {
	var handlers []abi.Handler
	for i, guest := range guests {
		for _, h := range guest.Registration().Handlers {
			h.Fn = fmt.Sprintf("%s of %s (module %d)", h.Fn, guest.Name(), i+1)
			handlers = append(handlers, h)
		}
	}
	if err := registration.CheckTwins(handlers); err != nil {
		return fmt.Errorf("the modules cannot be one operator: %w", err)
	}
	return nil
}
