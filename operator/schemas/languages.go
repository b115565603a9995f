package schemas

import (
	"fmt"
	"path/filepath"
)

// untyped says why there are no types of specs in files of other languages, by their endings.
// None of these SDKs has a typed spec of its own: there is nothing in the source that both the
// handlers and a definition follow.
var untyped = map[string]string{
	".py": "the spec of a handler in Python is a mapping without a type, as in Kopf",
	".js": "the spec of a handler in JavaScript has no type that exists at run time",
	".ts": "types of TypeScript are not read: they have no form in which a schema is complete",
}

// languageError is the error of source whose language has no types to read.
type languageError struct{ ending string }

// Error says why, and what to write instead.
func (e languageError) Error() string {
	const readable = "types are read from files in Go (.go) and in Rust (.rs)"
	why, ok := untyped[e.ending]
	if !ok {
		return readable
	}
	return fmt.Sprintf("%s: write the definition by hand, from crd.yaml of kopf new; %s", why, readable)
}

// endingOf returns the ending of a source file. Modules of JavaScript and TypeScript, and stubs of
// Python, count as their languages.
func endingOf(file string) string {
	switch ending := filepath.Ext(file); ending {
	case ".mjs", ".cjs", ".jsx":
		return ".js"
	case ".mts", ".cts", ".tsx":
		return ".ts"
	case ".pyi":
		return ".py"
	default:
		return ending
	}
}
