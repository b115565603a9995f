package kopf

import (
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// derivedID is the id of a handler that has none, from the name of its function. The ids of admission handlers become
// names of webhooks, which the API server accepts in lower case only: check-size for checkSize.
func derivedID(kind abi.Kind, name string) string {
	if kind != abi.KindValidate && kind != abi.KindMutate {
		return name
	}
	var id strings.Builder
	word := false // a word can end here
	for _, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && word {
			id.WriteByte('-')
		}
		id.WriteRune(r)
		word = !upper && r != '_'
	}
	return strings.Trim(strings.ToLower(id.String()), "_")
}

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
