package kopf

import "strings"

// lowerCase gives an admission handler without an id the name of its function in lower case: check-size for checkSize.
// The ids of these handlers become names of webhooks, in which the API server accepts no capital letters.
func (d *declaration) lowerCase(fn function) {
	if d.ID == "" {
		d.ID = hyphenated(plainName(fn.name()))
	}
}

func hyphenated(name string) string {
	var id []byte
	for i := range len(name) {
		c := name[i]
		if isUpper(c) {
			if i > 0 && !isUpper(name[i-1]) {
				id = append(id, '-')
			}
			c += 'a' - 'A' // strings.ToLower brings tables of 20 KB into modules
		}
		id = append(id, c)
	}
	return string(id)
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

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
