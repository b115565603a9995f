//go:build !tinygo

package kopf

import "runtime"

// fullName is the name of the function with this code, as the linker has it; ""
// if it has none.
func fullName(pc uintptr) string {
	if f := runtime.FuncForPC(pc); f != nil {
		return f.Name()
	}
	return ""
}
