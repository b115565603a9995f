package kopf

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Lifecycles: the order of several handlers of one cause.
//
// See https://docs.kopf.dev/en/latest/configuration/
const (
	AsSoonAsPossible = "asap"        // one after another, those with fewest retries first
	OneByOne         = "one_by_one"  // one after another, in order
	AllAtOnce        = "all_at_once" // all in one cycle
	Randomized       = "randomized"  // one of them, by chance
	Shuffled         = "shuffled"    // all in one cycle, in random order
)

// Operator names the operator, for logs and listings.
func Operator(name, version string) {
	guest.Default.Operator = abi.OperatorInfo{Name: name, Version: version}
}

// DefaultLifecycle chooses the order of handlers: AsSoonAsPossible if it is not called.
func DefaultLifecycle(lifecycle string) { guest.Default.Lifecycle = lifecycle }

// Capabilities are rights that the operator needs beyond its own memory.
type Capabilities = abi.Capabilities

// KubernetesRule is one rule of rights in the cluster.
type KubernetesRule = abi.KubernetesRule

// Want declares rights that the operator needs. The administrator grants or denies them.
func Want(c Capabilities) { guest.Default.Want(c) }

// Setup declares a function that registers handlers when the configuration is
// known: in init functions it is not. An error refuses the configuration, and the
// operator does not start. What is registered may depend on the configuration and
// on nothing else.
func Setup(fn func() error) { guest.Default.Setup(fn) }

// Config is a value of the operator's configuration; "" if it is not set. It is
// known to handlers and to functions given to Setup.
func Config(key string) string {
	value, _ := LookupConfig(key)
	return value
}

// LookupConfig is a value of the operator's configuration, and whether it is set.
func LookupConfig(key string) (value string, ok bool) {
	if value, ok = guest.Default.Config(key); ok {
		return value, true
	}
	value, err := guest.Default.Host.Config(key)
	return value, err == nil
}
