//go:build !tinygo

package kopf

import (
	"errors"
	"runtime"

	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// errNoName is a function whose name cannot be the id of a handler.
var errNoName = errors.New("closures, methods and generic functions have no name to be an id: " +
	"add an id to the registration, such as kopf.ID(\"create\")")

// function is what is known of the function of a handler: the address of its code, 0 for nil.
type function uintptr

// functionOf describes a function; the second argument tells whether it is nil.
func functionOf[F any](fn F, _ bool) function { return function(guest.PC(fn)) }

func (f function) missing() bool { return f == 0 }

// name is the name of the function, as the linker has it; "" if it has none.
func (f function) name() string {
	if found := runtime.FuncForPC(uintptr(f)); found != nil {
		return found.Name()
	}
	return ""
}

// ambiguous finds no fault: the names of their functions distinguish handlers with one id.
func ambiguous(*guest.Handler) error { return nil }
