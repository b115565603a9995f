//go:build wasip1

package guest

// Default is the module of this process: the one whose exports the host calls.
var Default = &Module{Host: wasmHost{}}
