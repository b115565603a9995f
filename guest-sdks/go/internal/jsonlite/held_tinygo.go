//go:build tinygo

package jsonlite

import "reflect"

// held is the value as an interface. The linker of TinyGo keeps no more than is used.
func held(v reflect.Value) any { return v.Interface() }
