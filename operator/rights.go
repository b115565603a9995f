package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/declaration"
)

// ErrMoreRights is in the errors of modules that want more than those before them.
var ErrMoreRights = errors.New("it wants more rights than what runs, and is held back until the operator is started anew")

// checkRights refuses modules that want more than those before them. What was granted
// does not matter: that may be wide.
//
// Errors: ErrMoreRights.
func checkRights(before, after []*host.Module) error {
	if more := declaration.More(rights(before), rights(after)); len(more) > 0 {
		return fmt.Errorf("%w: %s", ErrMoreRights, strings.Join(more, "; "))
	}
	return nil
}

// rights are what modules want together.
func rights(modules []*host.Module) *abi.Registration {
	all := &abi.Registration{Capabilities: &abi.Capabilities{}}
	for _, module := range modules {
		addRights(all, module.Registration())
	}
	return all
}

// kindObject stands for all handlers of changes, events and the like: they need the
// same of the cluster. Those of admission and conversion stand in the way of others.
const kindObject abi.Kind = "object"

// addRights adds what a registration wants: to handle resources, to review or convert
// their objects, to make requests, and to read parts of the configuration. Handlers without
// a resource want nothing: what they may do to the operator takes grants of its own.
func addRights(all, r *abi.Registration) {
	for _, h := range r.Handlers {
		if h.Resource == nil {
			continue
		}
		kind := kindObject
		if slices.Contains([]abi.Kind{abi.KindValidate, abi.KindMutate, abi.KindConvert}, h.Kind) {
			kind = h.Kind
		}
		all.Handlers = append(all.Handlers, abi.Handler{Kind: kind, Resource: h.Resource})
	}
	if c := r.Capabilities; c != nil {
		all.Capabilities.Kubernetes = append(all.Capabilities.Kubernetes, c.Kubernetes...)
		all.Capabilities.HTTP = append(all.Capabilities.HTTP, c.HTTP...)
		all.Capabilities.Config = append(all.Capabilities.Config, c.Config...)
	}
}
