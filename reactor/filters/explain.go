package filters

import (
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Finding is a filter that does not hold, or that a function of the guest decides.
type Finding struct {
	Option string // labels, annotations, field, value, old, new or when
	Key    string // the label, the annotation or the field; empty for when
	Open   bool   // whether a function of the guest decides

	// Wanted is PRESENT, ABSENT, FUNCTION, CHANGED, or the wanted value in JSON.
	Wanted string

	// Found are the values of the object in JSON, or ABSENT. For the option field they are the
	// old and the new value; for value with a change, the new and the old one.
	Found []string
}

// Explain returns the decision of Match, and all filters that do not hold or that a function
// of the guest decides. It is not for the handling of events: unlike Match, it evaluates all
// filters, and allocates texts.
func (c *Criteria) Explain(s Subject) (Decision, []Finding) {
	var findings []Finding
	if c.isUnchanged(s) {
		found := []string{textOf(lookup(former, s.Old, c.field)), textOf(lookup(latter, s.New, c.field))}
		findings = append(findings, Finding{Option: "field", Key: c.field.String(), Wanted: "CHANGED", Found: found})
	}
	for check := range c.checks(s, s.Changing) {
		if decision := check.filter.decide(check.values); decision != Yes {
			findings = append(findings, c.finding(check, decision))
		}
	}
	switch {
	case len(findings) == 0:
		return Yes, nil
	case slices.ContainsFunc(findings, func(f Finding) bool { return !f.Open }):
		return No, findings
	}
	return Open, findings
}

func (c *Criteria) finding(failed check, decision Decision) Finding {
	f := Finding{Option: failed.option, Key: failed.key, Open: decision == Open, Wanted: failed.filter.text()}
	switch f.Option {
	case "value", "old", "new":
		f.Key = c.field.String()
	}
	for _, value := range failed.values {
		f.Found = append(f.Found, textOf(value))
	}
	return f
}

// text returns the wanted value in JSON, or a marker.
func (f filter) text() string {
	switch f.mode {
	case equal:
		return string(dicts.Encode(f.literal))
	case present:
		return "PRESENT"
	case absent:
		return "ABSENT"
	case function:
		return "FUNCTION"
	case anything:
	}
	return ""
}

func textOf(o observed) string {
	if !o.there {
		return "ABSENT"
	}
	return string(dicts.Encode(o.value))
}
