package declaration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// maxRules bounds the rules of dynamic modules, which are compared with each other.
const maxRules = 1000

// Check compares what was declared with what is true: the functions that the
// module imports, and what it has registered. If the module is dynamic, both may be less.
//
// Errors: ErrMismatch, ErrMalformed.
func (d *Declaration) Check(imports []string, registered []byte) error {
	if err := d.CheckImports(imports); err != nil {
		return err
	}
	if d.Dynamic {
		r := &abi.Registration{}
		if err := json.Unmarshal(registered, r); err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return d.within(r)
	}
	same, err := equal(d.Registration, registered)
	switch {
	case err != nil:
		return err
	case !same:
		return fmt.Errorf("%w: it registers something else (kopf annotate declares what it registers now; if that depends on the configuration: --dynamic)", ErrMismatch)
	}
	return nil
}

// CheckImports compares the imported functions alone: that needs no code to run.
//
// Errors: ErrMismatch.
func (d *Declaration) CheckImports(imports []string) error {
	if extra := without(imports, d.Imports); extra != nil {
		return fmt.Errorf("%w: it imports %s", ErrMismatch, strings.Join(extra, ", "))
	}
	if missing := without(d.Imports, imports); missing != nil {
		return fmt.Errorf("%w: it does not import %s", ErrMismatch, strings.Join(missing, ", "))
	}
	return nil
}

// within checks that a registration stays below the declared one.
func (d *Declaration) within(r *abi.Registration) error {
	declared, err := d.Parsed()
	if err != nil {
		return err
	}
	if more := More(declared, r); len(more) > 0 {
		return fmt.Errorf("%w: it wants more: %s", ErrMismatch, strings.Join(more, "; "))
	}
	return nil
}

// More lists what a registration has beyond another one, as far as it is a right:
// kinds of handlers by resource, and capabilities. It is empty if there is nothing.
func More(than, r *abi.Registration) []string {
	var more []string
	known := map[string]bool{}
	for _, h := range than.Handlers {
		known[rightOf(h)] = true
	}
	for _, h := range r.Handlers {
		if right := rightOf(h); !known[right] {
			known[right] = true // told once
			more = append(more, right)
		}
	}
	has, wants := than.Capabilities, r.Capabilities
	if wants == nil {
		return more
	}
	if has == nil {
		has = &abi.Capabilities{}
	}
	if len(has.Kubernetes) > maxRules || len(wants.Kubernetes) > maxRules {
		return append(more, fmt.Sprintf("more than %d rules of requests to Kubernetes", maxRules))
	}
	for _, rule := range wants.Kubernetes {
		if !slices.ContainsFunc(has.Kubernetes, func(h abi.KubernetesRule) bool { return covers(h, rule) }) {
			more = append(more, describe(rule))
		}
	}
	for _, name := range without(wants.HTTP, has.HTTP) {
		more = append(more, "requests to "+name)
	}
	for _, name := range without(wants.Config, has.Config) {
		more = append(more, "the configuration "+name)
	}
	return more
}

// rightOf is what a handler needs of the cluster: to watch a resource for a purpose.
func rightOf(h abi.Handler) string {
	text := string(h.Kind) + " handlers"
	if h.Resource != nil {
		resource, err := json.Marshal(h.Resource)
		if err != nil {
			resource = []byte("?")
		}
		text += " of " + string(resource)
	}
	return text
}

// covers tells whether a rule allows all that another one does.
func covers(has, wants abi.KubernetesRule) bool {
	for _, pair := range [][2][]string{{has.Groups, wants.Groups}, {has.Resources, wants.Resources}, {has.Verbs, wants.Verbs}} {
		if !slices.Contains(pair[0], "*") && without(pair[1], pair[0]) != nil {
			return false
		}
	}
	switch {
	case len(has.Namespaces) == 0 && len(wants.Namespaces) == 0, slices.Contains(has.Namespaces, "*"):
		return true
	case len(has.Namespaces) == 0 || len(wants.Namespaces) == 0:
		return false
	}
	return without(wants.Namespaces, has.Namespaces) == nil
}

func describe(rule abi.KubernetesRule) string {
	text := strings.Join(rule.Verbs, ",") + " of " + strings.Join(rule.Resources, ",")
	if groups := strings.Trim(strings.Join(rule.Groups, ","), ","); groups != "" {
		text += " in " + groups
	}
	if rule.Namespaces != nil {
		text += " (" + strings.Join(rule.Namespaces, ",") + ")"
	}
	return text
}

// without lists what is in a list and not in the other one; nil if there is nothing.
func without(list, other []string) []string {
	known := make(map[string]bool, len(other))
	for _, item := range other {
		known[item] = true
	}
	var found []string
	for _, item := range list {
		if !known[item] {
			found = append(found, item)
		}
	}
	return found
}

// equal compares two documents, without regard to spaces and the order of keys.
func equal(a, b []byte) (bool, error) {
	var canonical [2][]byte
	for i, document := range [][]byte{a, b} {
		decoder := json.NewDecoder(bytes.NewReader(document))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			return false, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		var err error
		if canonical[i], err = json.Marshal(value); err != nil {
			return false, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	return bytes.Equal(canonical[0], canonical[1]), nil
}
