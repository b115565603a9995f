package selectors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// Demand is the selector of one handler and the handler's kind. The kind decides which
// verbs the resource must support.
type Demand struct {
	Kind     abi.Kind
	Selector Selector
}

// Served are the resources that an operator serves, without duplicates, in the order of
// discovery. The lists overlap.
//
// Kopf: kopf._cogs.structs.references.Insights.
type Served struct {
	Watched  []Resource // listed and watched, for all handlers but webhooks
	Webhooks []Resource // used in webhook configurations only
	Warnings []Warning
}

// Warning says which demands cannot be met. The texts are constant.
type Warning struct {
	Message   string
	Selectors []Selector
	Resources []Resource
}

// These are the texts of warnings.
const (
	Ambiguous   = "ambiguous resources will not be served (try specifying API groups)"
	Unresolved  = "unresolved resources cannot be served (try creating their CRDs)"
	Unwatchable = "non-watchable resources will not be served"
	Unpatchable = "non-patchable resources will not be served"
)

// String returns the text with the selectors and the resources.
func (w Warning) String() string {
	var parts []string
	for _, list := range []string{join(w.Selectors), join(w.Resources)} {
		if list != "" {
			parts = append(parts, list)
		}
	}
	return w.Message + ": " + strings.Join(parts, " => ")
}

func join[T fmt.Stringer](items []T) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.String()
	}
	return strings.Join(texts, ", ")
}

// Resolve decides which of the discovered resources are served. Each call looks at the
// whole cluster, so a resource is served again when its ambiguity is gone. The order of
// handlers and resources does not matter.
//
// Resources of webhooks are not checked, because the API server knows the resource of a
// request. A wrong watch, in contrast, does harm.
//
// Kopf: kopf._core.reactor.observation.revise_resources.
func Resolve(discovered []Resource, demands []Demand) Served {
	watching := selectorsFor(demands, isWatching)
	r := resolution{watched: union(discovered, watching)}
	ambiguous := r.dropAmbiguous(watching)
	r.warnUnresolved(exclude(watching, ambiguous))
	r.dropUnwatchable()
	r.dropUnpatchable(selectorsFor(demands, isPatching))
	return Served{
		Watched:  r.watched,
		Webhooks: union(discovered, selectorsFor(demands, isWebhook)),
		Warnings: r.warnings,
	}
}

func isWebhook(kind abi.Kind) bool {
	return kind == abi.KindValidate || kind == abi.KindMutate || kind == abi.KindConvert
}

func isWatching(kind abi.Kind) bool {
	return kind == abi.KindIndex || kind == abi.KindEvent || isPatching(kind)
}

// isPatching reports whether handlers of the kind store state on the objects.
func isPatching(kind abi.Kind) bool {
	switch kind {
	case abi.KindCreate, abi.KindUpdate, abi.KindDelete, abi.KindResume, abi.KindField,
		abi.KindTimer, abi.KindDaemon:
		return true
	default:
		return false
	}
}

func selectorsFor(demands []Demand, wanted func(abi.Kind) bool) []Selector {
	var list []Selector
	known := map[Selector]bool{} // a module can have ten thousand
	for _, demand := range demands {
		if wanted(demand.Kind) && !known[demand.Selector] {
			known[demand.Selector] = true
			list = append(list, demand.Selector)
		}
	}
	return list
}

func exclude(selectors, unwanted []Selector) []Selector {
	return slices.DeleteFunc(slices.Clone(selectors), func(s Selector) bool {
		return slices.Contains(unwanted, s)
	})
}

// union returns the resources that any of the selectors selects. It holds no room for the
// others, which are hundreds in most clusters.
func union(resources []Resource, selectors []Selector) []Resource {
	selected := keySet{}
	for _, s := range selectors {
		selected.add(s.Select(resources))
	}
	var found []Resource
	for _, r := range resources {
		if selected[r.Key()] {
			found = append(found, r)
		}
	}
	return slices.Clip(found)
}

type keySet map[Key]bool

func (set keySet) add(resources []Resource) {
	for _, r := range resources {
		set[r.Key()] = true
	}
}

// resolution reduces the watched resources step by step.
type resolution struct {
	watched  []Resource
	warnings []Warning
}

func (r *resolution) warn(message string, selectors []Selector, resources []Resource) {
	r.warnings = append(r.warnings, Warning{message, selectors, resources})
}

func (r *resolution) drop(unwanted keySet) {
	r.watched = slices.DeleteFunc(r.watched, func(r Resource) bool { return unwanted[r.Key()] })
}

// dropAmbiguous removes resources if a specific selector selects several of them.
func (r *resolution) dropAmbiguous(selectors []Selector) (ambiguous []Selector) {
	unwanted := keySet{}
	for _, s := range selectors {
		if selected := s.Select(r.watched); s.IsSpecific() && len(selected) > 1 {
			r.warn(Ambiguous, []Selector{s}, selected)
			ambiguous = append(ambiguous, s)
			unwanted.add(selected)
		}
	}
	r.drop(unwanted)
	return ambiguous
}

func (r *resolution) warnUnresolved(selectors []Selector) {
	unresolved := slices.DeleteFunc(selectors, func(s Selector) bool { return len(s.Select(r.watched)) > 0 })
	if len(unresolved) > 0 {
		r.warn(Unresolved, unresolved, nil)
	}
}

func (r *resolution) dropUnwatchable() {
	if unwatchable := r.without("list", "watch"); len(unwatchable) > 0 {
		r.warn(Unwatchable, nil, unwatchable)
		unwanted := keySet{}
		unwanted.add(unwatchable)
		r.drop(unwanted)
	}
}

// dropUnpatchable removes all resources that cannot be patched if one of them has handlers
// with state, as Kopf does.
func (r *resolution) dropUnpatchable(patching []Selector) {
	unpatchable := r.without("patch")
	if len(union(unpatchable, patching)) > 0 {
		r.warn(Unpatchable, nil, unpatchable)
		unwanted := keySet{}
		unwanted.add(unpatchable)
		r.drop(unwanted)
	}
}

// without returns the watched resources that lack one of the verbs.
func (r *resolution) without(verbs ...string) []Resource {
	var lacking []Resource
	for _, resource := range r.watched {
		has := func(verb string) bool { return slices.Contains(resource.Verbs, verb) }
		if !all(verbs, has) {
			lacking = append(lacking, resource)
		}
	}
	return lacking
}

func all(items []string, holds func(string) bool) bool {
	return !slices.ContainsFunc(items, func(item string) bool { return !holds(item) })
}
