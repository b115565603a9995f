//go:build tinygo

package kopf

// fullName is always empty: TinyGo keeps no names of functions. The id of each
// handler has to be given.
func fullName(uintptr) string { return "" }
