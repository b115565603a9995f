//go:build tinygo || go1.27

package jsonlite

import "reflect"

// held is the value as an interface. The linker of TinyGo keeps no more than is used,
// and Go versions that the layout was not tested with are better large than wrong.
func held(v reflect.Value) any { return v.Interface() }
