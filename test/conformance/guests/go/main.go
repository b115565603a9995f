// Command go is an operator that takes its handlers from a conformance case. The
// case comes as the value KOPF_CASE_JSON_TEXT of the configuration, with all
// placeholders resolved; KOPF_CASE_OPERATOR says which operator of the case it is:
// "main", or a key of "operators".
//
// Each invocation of a handler prints one line of JSON to the standard output,
// before the script of the handler is run. It does what recorder/interp.py does with
// the reference; README.md of the conformance cases describes the vocabulary.
package main

import (
	"fmt"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.Setup(setup) }

func main() { kopf.Main() }

// setup registers the handlers of the case.
func setup() error {
	which := kopf.Config("KOPF_CASE_OPERATOR")
	operator, err := loadOperator(kopf.Config("KOPF_CASE_JSON_TEXT"), which)
	if err != nil {
		return err
	}
	in := &interpreter{settings: operator.Settings, print: func(line string) { fmt.Println(line) }}
	if which != "main" {
		in.operator = which
	}
	kopf.Operator("conformance", "1")
	kopf.OnStartup(in.configure, kopf.ID("__configure__"))
	if operator.Lifecycle != "" {
		kopf.DefaultLifecycle(operator.Lifecycle)
	}
	for i := range operator.Handlers {
		spec := &operator.Handlers[i]
		for _, decorator := range spec.Decorators {
			identity := fmt.Sprintf("handlers[%d].%s", i, spec.Name)
			if err := in.register(decorator, spec, identity); err != nil {
				return err
			}
		}
	}
	return nil
}

// interpreter runs the handlers of one operator.
type interpreter struct {
	operator string // in the printed lines; "" for the main one
	settings object
	print    func(line string) // in one write
}
