// Package diagnoses finds out what a machine and a cluster lack to build and run operators.
package diagnoses

import (
	"fmt"
	"slices"
)

// Level says how much a finding matters.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // something does not work that this author may not need
	Problem Level = "problem" // something is broken
)

// Finding is the result of one check.
type Finding struct {
	About string `json:"about"` // tools, engines, caches, cluster, clock, rights, registry
	Name  string `json:"name"`
	Level Level  `json:"level"`
	Text  string `json:"text"` // what is there, or what is wrong and what to do
}

// Report is what the checks have found, in their order.
type Report struct {
	Findings []Finding `json:"findings"`
}

// Add adds findings.
func (r *Report) Add(found ...Finding) { r.Findings = append(r.Findings, found...) }

// Problems counts the findings of the level Problem.
func (r *Report) Problems() int {
	return len(r.Findings) - len(slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Level == Problem }))
}

// fine is a finding that nothing is wrong.
func fine(about, name, format string, arguments ...any) Finding {
	return Finding{About: about, Name: name, Level: OK, Text: fmt.Sprintf(format, arguments...)}
}

// failed is a finding of an error.
func failed(level Level, about, name string, err error) Finding {
	return Finding{About: about, Name: name, Level: level, Text: err.Error()}
}
