package kopf

import (
	"errors"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// errNoFunc is a handler without a function.
var errNoFunc = errors.New("the function is nil")

// declare adds a handler to the registration of this module.
func declare(kind abi.Kind, selector *Selector, fn function, run func(*guest.Task) guest.Done, opts []option) {
	handler, err := build(kind, selector, fn, run, opts)
	if err == nil {
		err = ambiguous(handler)
	}
	guest.Default.Add(handler, err)
}

// build makes a handler of its options.
func build(kind abi.Kind, selector *Selector, fn function, run func(*guest.Task) guest.Done, opts []option) (*guest.Handler, error) {
	d := &declaration{Handler: abi.Handler{Kind: kind}}
	full := fn.name()
	if name := plainName(full); name != "" {
		d.ID, d.Fn = name, full
	}
	if fn.missing() {
		d.fail(errNoFunc)
	}
	for _, opt := range opts {
		opt.apply(d)
	}
	if d.ID == "" {
		d.fail(errNoName)
	}
	if selector != nil {
		d.selector(*selector)
	}
	return &guest.Handler{Declaration: d.Handler, Run: run, Callbacks: d.callbacks}, describe(d)
}

// describe adds to an error what handler it is about.
func describe(d *declaration) error {
	if d.err == nil {
		return nil
	}
	name := string(d.Kind)
	if d.ID != "" {
		name += " " + d.ID
	}
	return &RegistrationError{Handler: name, Err: d.err}
}

// RegistrationError is a handler that cannot be registered. The operator does not start.
type RegistrationError struct {
	Handler string // kind and id
	Err     error
}

// Error names the handler.
func (e *RegistrationError) Error() string { return e.Handler + ": " + e.Err.Error() }

// Unwrap is what is wrong.
func (e *RegistrationError) Unwrap() error { return e.Err }

// selector says what resources the handler is for.
func (d *declaration) selector(s Selector) {
	d.Resource = s.wire()
	if s.asked != nil {
		s.asked(d)
	}
}
