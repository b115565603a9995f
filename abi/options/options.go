// Package options has the table of the options of handlers: which kinds of handlers have
// them, with their types and defaults. The host refuses options outside of it. The SDKs, the
// schema, SPEC.md and the manual are generated from it, or checked against it by the tests.
//
// Kopf: the arguments of the decorators kopf.on.*, kopf.daemon, kopf.timer, kopf.index (v1.45).
package options

import (
	"slices"

	"github.com/kopf-wasm/kopf/abi"
)

//go:generate go run ./internal/tables rust ../../guest-sdks/rust/kopf-macros/src/table.rs
//go:generate go run ./internal/tables javascript ../../engines/javascript/lib/options.js

// Option is an option of handlers.
type Option struct {
	Name    string     // in registrations
	Type    string     // the name of the type in SPEC.md
	Default string     // the value without the option; empty: no effect
	Kinds   []abi.Kind // of the handlers that have it
	Go      string     // the function of the Go SDK; empty: an argument or the type of the handler
	Page    string     // of Kopf's documentation; empty: Kopf does not have the option
}

// Sets of kinds that share options.
var (
	all        = slices.Concat(objects, []abi.Kind{abi.KindConvert}, activities, []abi.Kind{abi.KindSub})
	changes    = []abi.Kind{abi.KindCreate, abi.KindUpdate, abi.KindDelete, abi.KindResume, abi.KindField}
	reviews    = []abi.Kind{abi.KindValidate, abi.KindMutate}
	attempts   = slices.Concat(changes, []abi.Kind{abi.KindTimer, abi.KindDaemon, abi.KindIndex}) // for objects, with states of attempts
	objects    = slices.Concat(attempts, []abi.Kind{abi.KindEvent}, reviews)
	activities = []abi.Kind{abi.KindStartup, abi.KindCleanup, abi.KindLogin, abi.KindProbe, abi.KindBackground}
	filtered   = slices.Concat(objects, []abi.Kind{abi.KindSub})
	stateful   = slices.Concat(attempts, activities, []abi.Kind{abi.KindSub})
)

// Pages of Kopf's documentation.
const (
	pages     = "https://docs.kopf.dev/en/latest/"
	filters   = pages + "filters/"
	errors    = pages + "errors/"
	handlers  = pages + "handlers/"
	daemons   = pages + "daemons/"
	timers    = pages + "timers/"
	admission = pages + "admission/"
)

// Table holds all options, in the order of the documentation.
var Table = []Option{
	{Name: "kind", Type: "string", Kinds: all},
	{Name: "id", Type: "string", Default: "the name of the function", Kinds: all, Go: "ID", Page: handlers},
	{Name: "fn", Type: "string", Kinds: all, Go: "Identity"},
	{Name: "resource", Type: "selector", Kinds: slices.Concat(objects, []abi.Kind{abi.KindConvert}), Page: pages + "resources/"},
	{Name: "param", Type: "any", Default: "null", Kinds: all, Go: "Param", Page: pages + "kwargs/"},

	{Name: "errors", Type: "`TEMPORARY`, `PERMANENT`, `IGNORED`", Default: "TEMPORARY; IGNORED for indices", Kinds: stateful, Go: "Errors", Page: errors},
	{Name: "timeout", Type: "seconds", Default: "none", Kinds: stateful, Go: "Timeout", Page: errors},
	{Name: "retries", Type: "integer ≥ 0", Default: "no limit", Kinds: stateful, Go: "Retries", Page: errors},
	{Name: "backoff", Type: "seconds", Default: "60", Kinds: stateful, Go: "Backoff", Page: errors},

	{Name: "labels", Type: "map of filters", Kinds: filtered, Go: "Label", Page: filters},
	{Name: "annotations", Type: "map of filters", Kinds: filtered, Go: "Annotation", Page: filters},
	{Name: "when", Type: "function", Kinds: filtered, Go: "When", Page: filters},
	{Name: "field", Type: "list of strings", Kinds: filtered, Go: "Field", Page: filters},
	{Name: "value", Type: "filter", Kinds: filtered, Go: "Value", Page: filters},
	{Name: "old", Type: "filter", Kinds: []abi.Kind{abi.KindUpdate, abi.KindField, abi.KindSub}, Go: "OldValue", Page: filters},
	{Name: "new", Type: "filter", Kinds: []abi.Kind{abi.KindUpdate, abi.KindField, abi.KindSub}, Go: "NewValue", Page: filters},

	{Name: "optional", Type: "bool", Default: "false", Kinds: []abi.Kind{abi.KindDelete}, Go: "Optional", Page: handlers},
	{Name: "deleted", Type: "bool", Default: "false", Kinds: []abi.Kind{abi.KindResume}, Go: "Deleted", Page: handlers},
	{Name: "from", Type: "versions", Kinds: []abi.Kind{abi.KindConvert}},
	{Name: "to", Type: "versions", Kinds: []abi.Kind{abi.KindConvert}},

	{Name: "interval", Type: "seconds", Default: "the handler is called once", Kinds: []abi.Kind{abi.KindTimer}, Go: "Interval", Page: timers},
	{Name: "sharp", Type: "bool", Default: "false", Kinds: []abi.Kind{abi.KindTimer}, Go: "Sharp", Page: timers},
	{Name: "idle", Type: "seconds", Default: "none", Kinds: []abi.Kind{abi.KindTimer}, Go: "Idle", Page: timers},
	{Name: "initial_delay", Type: "seconds or function", Default: "none", Kinds: []abi.Kind{abi.KindTimer, abi.KindDaemon}, Go: "InitialDelay", Page: daemons},

	{Name: "cancellation_backoff", Type: "seconds", Default: "none", Kinds: []abi.Kind{abi.KindDaemon}, Go: "CancellationBackoff", Page: daemons},
	{Name: "cancellation_timeout", Type: "seconds", Default: "none", Kinds: []abi.Kind{abi.KindDaemon}, Go: "CancellationTimeout", Page: daemons},
	{Name: "cancellation_polling", Type: "seconds", Default: "the setting background.cancellation_polling", Kinds: []abi.Kind{abi.KindDaemon}, Go: "CancellationPolling", Page: daemons},

	{Name: "operations", Type: "list of `CREATE`, `UPDATE`, `DELETE`, `CONNECT`", Default: "all but those that the kind excludes", Kinds: reviews, Go: "Operations", Page: admission},
	{Name: "subresource", Type: "string, `*` for any", Default: "none", Kinds: reviews, Go: "Subresource", Page: admission},
	{Name: "persistent", Type: "bool", Default: "false", Kinds: reviews, Go: "Persistent", Page: admission},
	{Name: "side_effects", Type: "bool", Default: "false", Kinds: reviews, Go: "SideEffects", Page: admission},
	{Name: "ignore_failures", Type: "bool", Default: "false", Kinds: reviews, Go: "IgnoreFailures", Page: admission},
}

// Find returns the option of a name; ok is false without such an option.
func Find(name string) (o Option, ok bool) {
	for _, o := range Table {
		if o.Name == name {
			return o, true
		}
	}
	return Option{}, false
}

// Has reports whether handlers of a kind have the option.
func (o Option) Has(kind abi.Kind) bool { return slices.Contains(o.Kinds, kind) }

// Known reports whether there are handlers of a kind; child, whether they are sub-handlers.
func Known(kind abi.Kind) (known, child bool) {
	return slices.Contains(all, kind), kind == abi.KindSub
}
