//go:build !wasip1

package guest

// Default is the module of this process. Native builds have no host: tests of
// handlers bring their own, see package kopftest.
var Default = &Module{Host: Noone{}}
