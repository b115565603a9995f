package declaration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// More lists the rights that a registration wants in addition to those of another one. It
// returns an empty list without additional rights.
//
// Every field counts: one that differs is a right, unless a rule of this package says that
// the field is harmless, or that its new value asks for less. A field that is added
// to the registration therefore counts by default.
//
// A handler wants no more if an earlier handler of the same kind and resource had all its
// rights. Capabilities are compared as sets.
func More(than, r *abi.Registration) []string {
	has, err := fieldsOf(than)
	if err != nil {
		return []string{fmt.Sprintf("a registration that cannot be compared: %v", err)}
	}
	wants, err := fieldsOf(r)
	if err != nil {
		return []string{fmt.Sprintf("a registration that cannot be compared: %v", err)}
	}
	more := wider(registrationRules, has, wants)
	more = append(more, moreHandlers(than.Handlers, r.Handlers)...)
	return append(more, moreCapabilities(capabilities(than), capabilities(r))...)
}

// fields are those of a value as JSON, by name. An absent field and null are equal.
type fields map[string]json.RawMessage

func fieldsOf(value any) (fields, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	f := fields{}
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	for name, value := range f {
		if string(value) == "null" {
			delete(f, name)
		}
	}
	return f, nil
}

// wider lists the fields, sorted, by which a value wants more than another one.
func wider(rules map[string]rule, has, wants fields) []string {
	names := map[string]bool{}
	for _, f := range []fields{has, wants} {
		for name := range f {
			names[name] = true
		}
	}
	var more []string
	for name := range names {
		covers, known := rules[name]
		if !known {
			covers = same
		}
		if !covers(has[name], wants[name]) {
			more = append(more, name)
		}
	}
	slices.Sort(more)
	return more
}

// purpose is what handlers are compared within: what they watch, and what for.
type purpose struct {
	kind     abi.Kind
	resource string
}

func purposeOf(h *abi.Handler) purpose {
	p := purpose{kind: h.Kind}
	if h.Resource != nil {
		text, err := json.Marshal(h.Resource)
		if err != nil {
			text = []byte("?")
		}
		p.resource = string(text)
	}
	return p
}

func (p purpose) String() string {
	text := string(p.kind) + " handlers"
	if p.resource != "" {
		text += " of " + p.resource
	}
	return text
}

// claim holds the rights of a handler or of a rule: its fields without the harmless ones.
type claim struct {
	fields fields
	text   string // as JSON
}

func claimOf(value any, harmless map[string]bool) (claim, error) {
	f, err := fieldsOf(value)
	if err != nil {
		return claim{}, err
	}
	for name := range f {
		if harmless[name] {
			delete(f, name)
		}
	}
	text, err := json.Marshal(f) // sorted by name
	return claim{f, string(text)}, err
}

// maxCompared bounds the compared bytes, and so the work to a tenth of a second. Whatever
// exceeds the bound counts as wanting more.
const maxCompared = 2 << 20

// moreHandlers lists the handlers that want more than each of those before them.
func moreHandlers(has, wants []abi.Handler) []string {
	before, equal := map[purpose][]claim{}, map[string]bool{}
	for i := range has {
		if c, err := claimOf(&has[i], isHarmless); err == nil && !equal[c.text] {
			p := purposeOf(&has[i])
			before[p], equal[c.text] = append(before[p], c), true
		}
	}
	var more []string
	said, work := map[string]bool{}, maxCompared
	for i := range wants {
		c, err := claimOf(&wants[i], isHarmless)
		if err == nil && equal[c.text] {
			continue
		}
		p := purposeOf(&wants[i])
		text := p.String()
		if others := before[p]; err == nil && len(others) > 0 {
			least, ok := leastWider(handlerRules, others, c, &work)
			switch {
			case !ok:
				text = "more handlers than can be compared"
			case len(least) == 0:
				continue
			default:
				text += " (wider: " + strings.Join(least, ", ") + ")"
			}
		}
		if !said[text] {
			said[text] = true
			more = append(more, text)
		}
	}
	return more
}

// leastWider returns the fields in which a handler or a rule wants more than the nearest
// other one, or none if another one covers it. It deducts its cost from the remaining work,
// and gives up at zero.
func leastWider(rules map[string]rule, others []claim, c claim, work *int) (least []string, ok bool) {
	for i, other := range others {
		if *work -= len(other.text) + len(c.text); *work < 0 {
			return nil, false
		}
		more := wider(rules, other.fields, c.fields)
		if i == 0 || len(more) < len(least) {
			least = more
		}
		if len(least) == 0 {
			break
		}
	}
	return least, true
}

func capabilities(r *abi.Registration) *abi.Capabilities {
	return cmp.Or(r.Capabilities, &abi.Capabilities{})
}

// maxRules bounds the rules of requests, which are compared with each other.
const maxRules = 1000

func moreCapabilities(has, wants *abi.Capabilities) []string {
	if len(has.Kubernetes) > maxRules || len(wants.Kubernetes) > maxRules {
		return []string{fmt.Sprintf("more than %d rules of requests to Kubernetes", maxRules)}
	}
	more := moreRules(has.Kubernetes, wants.Kubernetes)
	for _, name := range without(wants.HTTP, has.HTTP) {
		more = append(more, "requests to "+name)
	}
	switch {
	case len(has.Config) > 0 && len(wants.Config) == 0:
		more = append(more, "the whole configuration")
	case len(has.Config) > 0:
		for _, name := range without(wants.Config, has.Config) {
			more = append(more, "the configuration "+name)
		}
	}
	rest, err := fieldsOf(has)
	other, otherErr := fieldsOf(wants)
	if err != nil || otherErr != nil {
		return append(more, "capabilities that cannot be compared")
	}
	for _, name := range wider(capabilityRules, rest, other) {
		more = append(more, "the capability "+name)
	}
	return more
}

// moreRules lists the rules that allow more than each of those before them.
func moreRules(has, wants []abi.KubernetesRule) []string {
	var before []claim
	equal := map[string]bool{}
	for _, rule := range has {
		if c, err := claimOf(rule, nil); err == nil && !equal[c.text] {
			before, equal[c.text] = append(before, c), true
		}
	}
	var more []string
	work := maxCompared
	for _, rule := range wants {
		c, err := claimOf(rule, nil)
		if err == nil && equal[c.text] {
			continue
		}
		least, ok := []string{""}, true // more than none
		if err == nil && len(before) > 0 {
			least, ok = leastWider(kubernetesRules, before, c, &work)
		}
		switch {
		case !ok:
			return append(more, "more rules of requests to Kubernetes than can be compared")
		case len(least) > 0:
			more = append(more, describe(rule))
		}
	}
	return more
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
