package main

import (
	"bytes"
	"fmt"
)

// These are the cases.
const (
	caseOne    = "one"    // one module for all operators, which have a namespace each
	caseMany   = "many"   // each operator has a module and a resource of its own
	caseFair   = "fair"   // two operators of one resource, of which one computes all the time
	caseSpread = "spread" // as one, or a single operator for all namespaces, with a burst of objects
	caseCrowd  = "crowd"  // all operators watch one resource in the whole cluster, and select objects by a label
)

// plural is the resource of the guests of test/bench.
const plural = "kopfexamples"

// pluralOf is the resource of an operator. It is as long as plural, so that it can replace
// plural in a module.
func pluralOf(which string, i int) string {
	if which != caseMany {
		return plural
	}
	return fmt.Sprintf("kopfexa%05d", i)
}

func namespaceOf(which string, i int) string {
	switch {
	case which == caseOne, which == caseSpread:
		return fmt.Sprintf("ns-%05d", i)
	case which == caseFair && i == 0:
		return neighbourNamespace
	case which == caseFair:
		return spinnerNamespace
	}
	return "default"
}

// namespacesOf are the namespaces of an operator; none: the whole cluster.
func (s *setup) namespacesOf(i int) []string {
	if s.Case == caseCrowd || s.Case == caseSpread && s.Count == 1 {
		return nil
	}
	return []string{namespaceOf(s.Case, i)}
}

// configOf is the configuration of an operator.
func (s *setup) configOf(i int) map[string]string {
	if s.Case != caseCrowd {
		return nil
	}
	return map[string]string{selecting: fmt.Sprint(i)}
}

// moduleOf is the module of an operator.
func moduleOf(which string, base []byte, i int) []byte {
	return bytes.ReplaceAll(base, []byte(plural), []byte(pluralOf(which, i)))
}
