//go:build tinygo

package kopf

import (
	"errors"

	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// errNoName is a function whose name cannot be the id of a handler.
var errNoName = errors.New("TinyGo keeps no names of functions: " +
	"add an id to the registration, such as kopf.ID(\"create\")")

// function is what is known of the function of a handler: whether there is one.
type function bool

// functionOf describes a function; the second argument tells whether it is nil.
func functionOf[F any](_ F, missing bool) function { return function(!missing) }

func (f function) missing() bool { return !bool(f) }

// name is always empty.
func (function) name() string { return "" }

// errNoIdentity is an id of several handlers, of which is unknown whether they are of one
// function: of those that are, one is called per cause.
var errNoIdentity = errors.New("another handler has this id, and TinyGo keeps no names of functions: " +
	"add kopf.Identity to both, with one name if they are of one function, with two names if not")

// ambiguous finds a handler that may be of the function of another one with its id.
func ambiguous(h *guest.Handler) error {
	if h.Declaration.Fn != "" || !guest.Default.Anonymous(h.Declaration.ID) {
		return nil
	}
	return &RegistrationError{Handler: string(h.Declaration.Kind) + " " + h.Declaration.ID, Err: errNoIdentity}
}
