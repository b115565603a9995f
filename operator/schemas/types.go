package schemas

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Types are the types that a file or a folder declares.
type Types struct {
	shapes  map[string]*shape // by name
	handled []string          // the types of specs of handlers, in their order
}

// shape is what values of a type look like.
type shape struct {
	kind     kind
	schema   dicts.Object // of the kind leaf
	element  *shape       // of lists, maps and optional values
	name     string       // of a reference
	fields   []field
	rules    dicts.Object // more of the schema: limits
	doc      string
	problem  string // why there is no schema; empty: there is
	variants []any  // of the kind choice
}

type kind int

const (
	leaf kind = iota
	list
	dictionary
	optional
	reference
	object
	choice // one of several texts
)

// field is a field of an object.
type field struct {
	name     string
	shape    *shape
	required bool
	inline   bool         // the fields of the value are those of the object
	rules    dicts.Object // more of the schema: limits, a default
	doc      string
}

var errNoTypes = errors.New("there are no types in it")

// maxSource bounds a file, in bytes.
const maxSource = 8 << 20

// Read reads the types of a file, or of all files in a folder.
//
// Errors: a file that cannot be read or parsed; a file in another language.
func Read(path string) (*Types, error) {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		if files, err = filesIn(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	t := &Types{shapes: map[string]*shape{}}
	for _, file := range files {
		text, err := boundedfile.Read(file, maxSource)
		if err != nil {
			return nil, err
		}
		switch filepath.Ext(file) {
		case ".go":
			err = t.readGo(file, text)
		case ".rs":
			err = t.readRust(string(text))
		default:
			err = languageError{endingOf(file)}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if len(t.shapes) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNoTypes)
	}
	return t, nil
}

// filesIn lists the files of a folder that may have types.
//
// Errors: a folder with source of other languages only.
func filesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	other := ""
	for _, entry := range entries {
		name := entry.Name()
		switch ending := endingOf(name); {
		case entry.IsDir():
		case (ending == ".go" || ending == ".rs") && !strings.HasSuffix(name, "_test.go"):
			files = append(files, filepath.Join(folder, name))
		case untyped[ending] != "" && other == "":
			other = ending
		}
	}
	if len(files) == 0 && other != "" {
		return nil, languageError{other}
	}
	return files, nil
}

// Handled returns the types of the specs of handlers, without duplicates.
func (t *Types) Handled() []string {
	var names []string
	for _, name := range t.handled {
		if t.shapes[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Names returns the names of all types, sorted.
func (t *Types) Names() []string { return slices.Sorted(maps.Keys(t.shapes)) }

// Schema returns the structural schema of a type.
//
// Errors: an unknown type; a type that a schema cannot describe, with the path of its field.
func (t *Types) Schema(name string) (dicts.Object, error) {
	known := t.shapes[name]
	if known == nil {
		return nil, fmt.Errorf("there is no type %s, but %s", name, strings.Join(t.Names(), ", "))
	}
	return (&building{Types: t}).schema(known, name, []string{name})
}

// Bounds of a schema. A type is described wherever it occurs, so a few types that contain each other twice have a schema of
// gigabytes. The API server stores much smaller ones.
const (
	maxValues = 20_000
	maxLevels = 100
)

// building is a schema that is being made.
type building struct {
	*Types
	values, levels int
}

// schema returns the schema of a shape. Path is for messages; within are the types around it.
func (t *building) schema(s *shape, path string, within []string) (dicts.Object, error) {
	t.levels++
	defer func() { t.levels-- }()
	if t.values++; t.values > maxValues || t.levels > maxLevels {
		return nil, fmt.Errorf("%.100s: %w: a schema has at most %d values and %d levels", path, bounded.ErrTooMuch, maxValues, maxLevels)
	}
	if s.problem != "" {
		return nil, fmt.Errorf("%s: %s", path, s.problem)
	}
	schema, err := t.plain(s, path, within)
	if err != nil {
		return nil, err
	}
	return merged(schema, s.rules), nil
}

// plain returns the schema of a shape without the rules of its type.
func (t *building) plain(s *shape, path string, within []string) (dicts.Object, error) {
	switch s.kind {
	case list, dictionary:
		element, err := t.schema(s.element, path+"[]", within)
		if s.kind == list {
			return dicts.Object{"type": "array", "items": element}, err
		}
		return dicts.Object{"type": "object", "additionalProperties": element}, err
	case optional:
		return t.schema(s.element, path, within)
	case reference:
		return t.referred(s, path, within)
	case object:
		return t.object(s, path, within)
	case choice:
		return documented(dicts.Object{"type": "string", "enum": s.variants}, s.doc), nil
	case leaf:
	}
	return documented(dicts.CloneObject(s.schema), s.doc), nil
}

func (t *building) referred(s *shape, path string, within []string) (dicts.Object, error) {
	known := cmp.Or(t.shapes[s.name], common(s.name))
	switch {
	case known == nil:
		return nil, fmt.Errorf("%s: the type %s is declared elsewhere: name the folder of its file", path, s.name)
	case slices.Contains(within, s.name):
		return nil, fmt.Errorf("%s: the type %s contains itself, which a definition cannot describe", path, s.name)
	}
	return t.schema(known, path, append(within, s.name))
}

func (t *building) object(s *shape, path string, within []string) (dicts.Object, error) {
	properties, required, rules := dicts.Object{}, []any{}, dicts.Object{}
	for _, f := range s.fields {
		schema, err := t.schema(f.shape, strings.TrimSuffix(path+"."+f.name, "."), within)
		if err != nil {
			return nil, err
		}
		if f.inline {
			inner, _ := schema["properties"].(dicts.Object)
			maps.Copy(properties, inner)
			more, _ := schema["required"].([]any)
			required = append(required, more...)
			if schema["additionalProperties"] != nil {
				rules["x-kubernetes-preserve-unknown-fields"] = true
			}
			maps.DeleteFunc(schema, func(key string, _ any) bool { return !strings.HasPrefix(key, "x-kubernetes-") })
			rules = merged(rules, schema)
			continue
		}
		properties[f.name] = documented(merged(schema, f.rules), f.doc)
		if f.required {
			required = append(required, f.name)
		}
	}
	result := merged(dicts.Object{"type": "object"}, rules)
	if len(properties) > 0 {
		result["properties"] = properties
	}
	if len(required) > 0 {
		result["required"] = required
	}
	return documented(result, s.doc), nil
}

// documented adds a description, unless it has none.
func documented(schema dicts.Object, doc string) dicts.Object {
	if doc = strings.TrimSpace(doc); doc != "" {
		schema["description"] = doc
	}
	return schema
}

func leafOf(name string, more ...any) *shape {
	schema := dicts.Object{"type": name}
	for i := 0; i+1 < len(more); i += 2 {
		key, _ := more[i].(string)
		schema[key] = more[i+1]
	}
	return &shape{schema: schema}
}

// quantity is what Kubernetes accepts as a quantity.
const quantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// common is the shape of a type of Kubernetes that is an integer or a text; nil for others.
func common(name string) *shape {
	schema := dicts.Object{"anyOf": []any{dicts.Object{"type": "integer"}, dicts.Object{"type": "string"}}, "x-kubernetes-int-or-string": true}
	switch name {
	case "Quantity":
		schema["pattern"] = quantity
	case "IntOrString":
	default:
		return nil
	}
	return &shape{schema: schema}
}

// anything is the shape of values of any type.
func anything() *shape {
	return &shape{schema: dicts.Object{"x-kubernetes-preserve-unknown-fields": true}}
}

func refused(format string, args ...any) *shape { return &shape{problem: fmt.Sprintf(format, args...)} }
