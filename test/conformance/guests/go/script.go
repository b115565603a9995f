package main

import (
	"fmt"
	"os"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// ValueError is the error of scripts that neither is temporary nor permanent.
type ValueError string

// Error is the message.
func (e ValueError) Error() string { return string(e) }

// run does the operations of a script, until one returns or fails.
func (c *call) run(script []object) error {
	for _, op := range script {
		if cond, ok := op["if"].(object); ok {
			branch := "else"
			if c.holds(cond) {
				branch = "do"
			}
			if err := c.run(scriptOf(op[branch])); err != nil || c.returned {
				return err
			}
			continue
		}
		for name, arg := range op { // there is one
			if err := c.do(name, arg); err != nil || c.returned {
				return err
			}
		}
	}
	return nil
}

// scriptOf is a nested script.
func scriptOf(value any) []object {
	list, _ := value.([]any)
	var script []object
	for _, item := range list {
		if op, ok := item.(object); ok {
			script = append(script, op)
		}
	}
	return script
}

// operation is one word of the vocabulary.
type operation func(c *call, arg any) error

// operations are all of them.
func operations(name string) operation {
	for _, group := range []map[string]operation{flowOps, patchOps, effectOps, waitOps} {
		if op, ok := group[name]; ok {
			return op
		}
	}
	if name == "subhandlers" {
		return opSubhandlers
	}
	return nil
}

func (c *call) do(name string, arg any) error {
	op := operations(name)
	if op == nil {
		return fmt.Errorf("unknown op: %s", name)
	}
	if patchOps[name] != nil && c.patch == nil && c.activity == nil {
		return nil // of an index, whose patches the reference does not apply
	}
	return op(c, arg)
}

// flowOps end the script.
var flowOps = map[string]operation{
	"return": func(c *call, arg any) error {
		c.returned, c.result = true, arg
		return nil
	},
	"login": func(c *call, _ any) error {
		c.returned, c.result = true, kopf.LoginWithKubeconfig(c.activity)
		return nil
	},
	"temporary": func(_ *call, arg any) error {
		args := argsOf(arg)
		delay, said := args["delay"]
		switch {
		case !said:
			return kopf.Temporary(args.text("msg"))
		case delay == nil:
			return kopf.Temporary(args.text("msg"), kopf.AtOnce())
		}
		d, err := seconds(delay)
		if err != nil {
			return err
		}
		return kopf.Temporary(args.text("msg"), kopf.Delay(d))
	},
	"permanent":       func(_ *call, arg any) error { return kopf.Permanent(argsOf(arg).text("msg")) },
	"arbitrary":       func(_ *call, arg any) error { return ValueError(argsOf(arg).text("msg")) },
	"arbitrary_empty": func(*call, any) error { return ValueError("") },
	"admission_error": func(_ *call, arg any) error {
		args := argsOf(arg)
		code, err := into[int](args["code"])
		if err != nil {
			return err
		}
		return &kopf.AdmissionError{Message: args.text("msg"), Code: code}
	},
	"exit": func(_ *call, arg any) error {
		code, err := into[int](arg)
		if err == nil {
			os.Exit(code)
		}
		return err
	},
}

// args are the named arguments of an operation.
type args object

func argsOf(arg any) args {
	m, _ := arg.(object)
	return m
}

func (a args) text(name string) string {
	text, _ := a[name].(string)
	return text
}

// holds checks conditions of a script; all must hold.
func (c *call) holds(cond object) bool {
	for name, want := range cond {
		if !c.check(name, want) {
			return false
		}
	}
	return true
}

func (c *call) check(name string, want any) bool {
	switch name {
	case "retry_lt":
		return less(c.Retry, want)
	case "calls_lt":
		return less(c.calls, want)
	case "name_is":
		return c.object != nil && c.object.Name == want
	case "reason_is":
		return c.change != nil && c.change.Reason == want
	case "type_is":
		return c.event != nil && equal(nullable(c.event.Type), want)
	case "activity_is":
		return c.activity != nil && c.activity.Activity == want
	case "operation_is":
		return c.review != nil && c.review.Operation == want
	case "spec_is":
		pair, _ := want.([]any)
		return len(pair) == 2 && c.object != nil && equal(c.object.Spec.Get(pair[0]), pair[1])
	case "spec_has":
		key, _ := want.(string)
		return c.object != nil && c.object.Spec.Has(key)
	}
	return false
}

func less(n int, limit any) bool {
	f, ok := normal(limit).(float64)
	return ok && float64(n) < f
}
