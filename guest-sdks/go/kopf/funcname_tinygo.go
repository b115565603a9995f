//go:build tinygo

package kopf

import (
	"errors"

	"github.com/kopf-wasm/kopf/abi"
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
	d := &h.Declaration
	if d.Fn != "" {
		return nil
	}
	for _, other := range guest.Default.Anonymous(d.ID) {
		if oneCause(d.Kind, other) {
			return &RegistrationError{Handler: string(d.Kind) + " " + d.ID, Err: errNoIdentity}
		}
	}
	return nil
}

// oneCause tells whether handlers of two kinds may be called for one cause: those of one
// kind, and those of any change with those of a certain one.
func oneCause(a, b abi.Kind) bool {
	changes := func(k abi.Kind) bool {
		return k == abi.KindCreate || k == abi.KindUpdate || k == abi.KindDelete || k == abi.KindResume || k == abi.KindField
	}
	anyChange := func(k abi.Kind) bool { return k == abi.KindResume || k == abi.KindField }
	return a == b || changes(a) && changes(b) && (anyChange(a) || anyChange(b))
}
