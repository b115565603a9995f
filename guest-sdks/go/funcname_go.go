//go:build !tinygo

package kopf

import (
	"reflect"
	"runtime"
)

// fullName is the name of a function as the linker has it; "" if it has none.
func fullName(fn any) string {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Func || v.IsNil() {
		return ""
	}
	if f := runtime.FuncForPC(v.Pointer()); f != nil {
		return f.Name()
	}
	return ""
}
