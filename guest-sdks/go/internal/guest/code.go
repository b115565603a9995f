//go:build !tinygo

package guest

import "unsafe"

// PC is the address of the code of a function, for its name; 0 for nil. reflect
// tells the same of an interface, but a function in an interface makes the linker
// keep all types that it mentions, with all their methods. Other compilers have
// other layouts of function values.
func PC[F any](fn F) uintptr {
	code := *(**uintptr)(unsafe.Pointer(&fn))
	if code == nil {
		return 0
	}
	return *code
}
