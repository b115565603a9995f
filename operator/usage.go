package operator

import (
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor"
)

// Usage is what an operator has done since it was created, and what it uses now.
type Usage struct {
	Counts  reactor.Counts
	Held    []accounts.Usage      // memory of the host that is held for handlers, by limit
	Modules map[string]host.Usage // of the modules that serve now, by name, since each was loaded
}

// Usage returns the present usage. It can be called at any time, and looks at each object
// with waiting events.
func (op *Operator) Usage() Usage {
	u := Usage{Counts: op.reactor.Counts(), Held: op.reactor.Accounts(), Modules: map[string]host.Usage{}}
	for _, module := range op.Modules() {
		u.Modules[module.Name()] = module.Usage()
	}
	return u
}
