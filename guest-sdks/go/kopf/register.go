package kopf

import (
	"errors"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// errNoFunc is a handler without a function.
var errNoFunc = errors.New("the function is nil")

// declare adds a handler to the registration of this module.
func declare(kind abi.Kind, selector *Selector, fn function, run func(*guest.Task) guest.Done, d *declaration) {
	handler, err := d.build(kind, selector, fn, run)
	if err == nil {
		err = ambiguous(handler)
	}
	guest.Default.Add(handler, err)
}

// set sets an option. An absent one changes nothing. Registrations call it in a loop of their own: one
// generic function for all of them takes 1 KB more in modules.
func (d *declaration) set(opt any) {
	if set, ok := opt.(setter); ok {
		set(d)
	}
}

// build makes a handler of its options.
func (d *declaration) build(kind abi.Kind, selector *Selector, fn function, run func(*guest.Task) guest.Done) (*guest.Handler, error) {
	d.Kind = kind
	full := fn.name()
	if name := plainName(full); name != "" {
		if d.ID == "" {
			d.ID = name
		}
		if d.Fn == "" {
			d.Fn = full
		}
	}
	if fn.missing() {
		d.fail(errNoFunc)
	}
	if d.ID == "" {
		d.fail(errNoName)
	}
	if selector != nil {
		d.selector(selector)
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
func (d *declaration) selector(s *Selector) {
	d.Resource = s.wire()
	if s.asked != nil {
		s.asked(d)
	}
}
