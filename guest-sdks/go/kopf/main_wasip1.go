//go:build wasip1

package kopf

// Main runs the operator natively, for breakpoints and profilers. In a module it
// does nothing: the host calls the handlers.
func Main() {}
