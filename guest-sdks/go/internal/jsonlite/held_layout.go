//go:build !tinygo && !go1.27

package jsonlite

import (
	"reflect"
	"unsafe"
)

// The layouts of reflect.Value and of interfaces, as they are since Go 1.4. A test
// compares held with reflect's own method for all kinds of values; with versions of
// Go that it has not run with, see the build constraint, reflect is asked instead.
type (
	valueLayout struct {
		typ, ptr unsafe.Pointer
		flag     uintptr
	}
	anyLayout struct{ typ, data unsafe.Pointer }
)

// flagIndirect says in a reflect.Value that it has the address of the data.
const flagIndirect = 1 << 7

// held is the value as an interface. It may share memory with the value, and
// is for a moment's use. Interfaces have none, and fields that are not exported must not.
//
// reflect's own method, Interface, makes the linker keep all that calls methods by
// reflection: 130 KB in each module.
func held(v reflect.Value) any {
	value, zero := layout(v), layout(reflect.Zero(v.Type()))
	data := value.ptr
	if value.flag&flagIndirect != 0 && zero.flag&flagIndirect == 0 {
		data = *(*unsafe.Pointer)(data) // values of this type are pointers themselves
	}
	made := anyLayout{typ: value.typ, data: data}
	return *(*any)(unsafe.Pointer(&made))
}

func layout(v reflect.Value) valueLayout { return *(*valueLayout)(unsafe.Pointer(&v)) }
