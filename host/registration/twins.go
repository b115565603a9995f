package registration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// CheckTwins refuses different functions that have one id and can be called for the same
// cause of one resource. They would share one progress record, and only the first would be
// called. Handlers that are all called at once, without a stored progress, may have one id.
// Only the cluster can resolve selectors, so CheckTwins compares equal selectors only.
//
// It compares handlers of one id in pairs, and refuses registrations for which that would be
// too much work.
func CheckTwins(handlers []abi.Handler) error {
	type key struct{ id, resource, cause string }
	seen := map[key]*namesakes{}
	work := maxWork
	for i := range handlers {
		h := &handlers[i]
		resource, err := json.Marshal(h.Resource)
		if err != nil {
			return err
		}
		for _, cause := range causesOf(h) {
			k := key{fullID(h), string(resource), cause}
			if seen[k] == nil {
				seen[k] = &namesakes{}
			}
			other := seen[k].add(h, &work)
			switch {
			case work < 0:
				return fmt.Errorf("too many handlers with the id %q", h.ID)
			case other != nil:
				return fmt.Errorf("two functions with the id %q meet in one cause (%s): %s and %s would share one progress: give one of them another id", h.ID, cause, function(other), function(h))
			}
		}
	}
	return nil
}

// namesakes holds handlers with one id in one cause of one resource, by function.
type namesakes struct {
	functions [][]*abi.Handler
	positions map[string]int // of functions with a name: a function without one is used once
}

// add adds a handler, and returns a handler of another function that it conflicts with, or
// nil. It deducts its cost from the remaining work.
func (n *namesakes) add(h *abi.Handler, work *int) *abi.Handler {
	position, known := n.positions[h.Fn]
	for i, others := range n.functions {
		if known && i == position {
			continue
		}
		for _, other := range others {
			if *work -= weight(other) + weight(h); *work < 0 {
				return nil
			}
			if !exclusive(other, h) {
				return other
			}
		}
	}
	if known {
		n.functions[position] = append(n.functions[position], h)
		return nil
	}
	if n.positions == nil {
		n.positions = map[string]int{}
	}
	if h.Fn != "" {
		n.positions[h.Fn] = len(n.functions)
	}
	n.functions = append(n.functions, []*abi.Handler{h})
	return nil
}

// maxWork bounds the comparison, in bytes of filters: some tenths of a second. Benign guests
// stay far below it.
const maxWork = 16 << 20

// weight is the cost of comparing the filters of a handler.
func weight(h *abi.Handler) int {
	total := 64 + len(h.Value) + len(h.Old) + len(h.New)
	for _, filters := range []map[string]abi.Raw{h.Labels, h.Annotations} {
		for key, filter := range filters {
			total += len(key) + len(filter)
		}
	}
	return total
}

// function names the function of a handler in errors.
func function(h *abi.Handler) string {
	if h.Fn == "" {
		return "one without a name"
	}
	return h.Fn
}

// fullID is the id with the suffix of the field.
func fullID(h *abi.Handler) string {
	if len(h.Field) == 0 {
		return h.ID
	}
	return h.ID + "/" + strings.Join(h.Field, ".")
}

// causesOf returns the causes in which functions with one id exclude each other. Handlers for
// resuming are also called for any cause of the first event of an object.
func causesOf(h *abi.Handler) []string {
	switch h.Kind {
	case abi.KindCreate:
		return []string{"create"}
	case abi.KindUpdate:
		return []string{"update"}
	case abi.KindDelete:
		return []string{"delete"}
	case abi.KindResume:
		if h.Deleted {
			return []string{"resume", "create", "update", "delete"}
		}
		return []string{"resume", "create", "update"}
	case abi.KindField:
		return []string{"create", "update", "resume"}
	case abi.KindTimer, abi.KindDaemon:
		return []string{"spawning"}
	case abi.KindValidate, abi.KindMutate:
		return []string{"admission"}
	case abi.KindConvert:
		return []string{"convert " + h.From + " " + h.To}
	case abi.KindEvent, abi.KindStartup, abi.KindCleanup, abi.KindProbe:
		return nil
	}
	return []string{string(h.Kind)}
}

// exclusive reports whether the filters of two handlers of one field contradict each other. What
// functions select is not known: if both handlers of changes have one, they are taken to do so.
func exclusive(a, b *abi.Handler) bool {
	if isOfChanges(a.Kind) && !a.When.IsNull() && !b.When.IsNull() {
		return true
	}
	for key, filter := range a.Labels {
		if other, ok := b.Labels[key]; ok && contradict(filter, other) {
			return true
		}
	}
	for key, filter := range a.Annotations {
		if other, ok := b.Annotations[key]; ok && contradict(filter, other) {
			return true
		}
	}
	return contradict(a.Value, b.Value) || contradict(a.Old, b.Old) || contradict(a.New, b.New)
}

func isOfChanges(kind abi.Kind) bool {
	return slices.Contains([]abi.Kind{abi.KindCreate, abi.KindUpdate, abi.KindDelete, abi.KindResume, abi.KindField}, kind)
}

// contradict reports whether no value matches both filters. Values other than strings may be
// equal in spite of different texts.
func contradict(a, b abi.Raw) bool {
	if a.IsNull() || b.IsNull() {
		return false
	}
	am, bm := markerOf(a), markerOf(b)
	switch {
	case am == "" && bm == "":
		return isString(a) && isString(b) && !sameString(a, b)
	case am == "ABSENT":
		return bm == "PRESENT" || bm == "VALUE" || bm == ""
	case bm == "ABSENT":
		return am == "PRESENT" || am == "VALUE" || am == ""
	}
	return false
}

func isString(raw abi.Raw) bool { return raw[0] == '"' }

func sameString(a, b abi.Raw) bool {
	var x, y string
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}
