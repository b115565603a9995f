// Package imports describes the functions that modules import from the host: a type, and an
// implementation on a part of the running call.
package imports

import (
	"fmt"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// Function is one function that modules may import. C is the part of the running call that
// the function uses.
type Function[C any] struct {
	// Type is the type in the notation of package prepare: "(i32, i32) -> i64".
	Type string

	// Do runs the function. The arguments are in the stack, and the result goes to stack[0].
	// The guest chooses the arguments, so each of them may be invalid.
	Do func(c C, stack []uint64)
}

// Func returns a function.
func Func[C any](typ string, do func(c C, stack []uint64)) Function[C] {
	return Function[C]{Type: typ, Do: do}
}

// Types holds the types of functions, by the module that provides them and their names.
type Types map[string]map[string]string

// Add adds the functions of a module, and returns the types.
func Add[C any](types Types, module string, functions map[string]Function[C]) Types {
	types[module] = map[string]string{}
	for name, f := range functions {
		types[module][name] = f.Type
	}
	return types
}

// Check refuses a module that imports a function that the host does not provide, or one of
// another type.
func (t Types) Check(wanted []prepare.Import) error {
	for _, i := range wanted {
		switch typ, ok := t[i.Module][i.Name]; {
		case !ok:
			return fmt.Errorf("it imports %s.%s, which this host does not provide", i.Module, i.Name)
		case typ != i.Type:
			return fmt.Errorf("its import %s.%s has the type %s instead of %s", i.Module, i.Name, i.Type, typ)
		}
	}
	return nil
}

// U32 returns an argument of the type i32.
func U32(stack []uint64, i int) uint32 { return uint32(stack[i]) }
