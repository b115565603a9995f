package kopf

import "strings"

// plainName is the name of a top-level function without its package; "" for
// functions without a name of their own: closures, methods, generic functions.
// Full names look like example.com/pkg.create, example.com/pkg.init.func1,
// example.com/pkg.(*T).Method-fm, example.com/pkg.fn[...].
func plainName(full string) string {
	if i := strings.LastIndexByte(full, '/'); i >= 0 {
		full = full[i+1:]
	}
	_, name, _ := strings.Cut(full, ".")
	for i := range len(name) {
		switch name[i] {
		case '.', '(', ')', '[', ']', '-':
			return ""
		}
	}
	if name == "init" {
		return ""
	}
	return name
}
