package kopf

import (
	"reflect"
	"strings"

	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// ObjectTypeError reports a value that is not an object, or an object that cannot be changed.
type ObjectTypeError struct{ Type string }

// Error says what there should be.
func (e *ObjectTypeError) Error() string {
	return "want maps, pointers to structs, or lists of them as objects, got " + e.Type
}

// object is an object that is edited: a document is changed, and of the object
// itself only what is changed in the document. So nothing else of it is touched,
// also what has no form in JSON.
type object struct {
	target any // a map, or a pointer to a struct
	doc    Map
}

// eachObject edits objects in place, however they are given. Nil is not an object.
func eachObject(objects any, edit func(object) error) error {
	return eachValue(reflect.ValueOf(objects), func(target any) error {
		text, err := Encode(target)
		if err != nil {
			return err
		}
		doc, isMap := JSON(text).Any().(Map)
		if !isMap {
			return &ObjectTypeError{reflect.TypeOf(target).String()}
		}
		return edit(object{target, doc})
	})
}

// eachValue walks over lists of any depth.
func eachValue(v reflect.Value, do func(target any) error) error {
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Interface:
		return eachValue(v.Elem(), do)
	case reflect.Pointer:
		switch {
		case v.IsNil():
		case v.Elem().Kind() == reflect.Struct:
			return do(v.Interface())
		default:
			return eachValue(v.Elem(), do)
		}
	case reflect.Struct:
		if v.CanAddr() { // it is in a slice
			return do(v.Addr().Interface())
		}
	case reflect.Map:
		if !v.IsNil() && v.Type().Elem().Kind() == reflect.Interface {
			return do(v.Interface())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := eachValue(v.Index(i), do); err != nil {
				return err
			}
		}
		return nil
	}
	return &ObjectTypeError{v.Type().String()}
}

// metadata is the metadata of the object, or of a part of it. It is made if needed.
// Null is as good as absent here: it is what nil maps and pointers become in JSON.
func (o object) metadata(part ...string) (metadata, error) {
	path := append(append(make([]string, 0, len(part)+2), part...), "metadata")
	values, err := o.mapAt(path)
	if err == nil && values == nil {
		values = Nested(o.doc, path...)
	}
	return metadata{o, path, values}, err
}

// mapAt is the map at a path; nil if there is none. Errors: something else is there.
func (o object) mapAt(path []string) (Map, error) {
	m := o.doc
	for i, key := range path {
		value := m[key]
		if value == nil {
			return nil, nil
		}
		var isMap bool
		if m, isMap = value.(Map); !isMap {
			return nil, mismatch(path[:i+1], "an object", value)
		}
	}
	return m, nil
}

// metadata is the metadata of an object or of a part of it.
type metadata struct {
	object
	path   []string // of the metadata in the object
	values Map      // in the document
}

// set sets a value. Nil is null in maps, and the zero value in structs.
func (m metadata) set(key string, value any) error {
	m.values[key] = value
	return m.save(key)
}

// delete deletes a key, if it is there.
func (m metadata) delete(key string) error {
	delete(m.values, key)
	return m.save(key)
}

func (m metadata) save(key string) error {
	return jsonlite.Replace(m.target, m.doc, m.pathOf(key)...)
}

func (m metadata) pathOf(key string) []string {
	return append(append(make([]string, 0, len(m.path)+1), m.path...), key)
}

// labels are those that are there. Errors: they are not a map.
func (m metadata) labels() (Map, error) {
	switch labels := m.values["labels"].(type) {
	case nil:
		return Map{}, nil
	case Map:
		return labels, nil
	default:
		return nil, mismatch(m.pathOf("labels"), "an object", labels)
	}
}

// owners are the owner references that are there. Errors: they are not a list.
func (m metadata) owners() ([]any, error) {
	switch list := m.values["ownerReferences"].(type) {
	case nil:
		return nil, nil
	case []any:
		return list, nil
	default:
		return nil, mismatch(m.pathOf("ownerReferences"), "a list", list)
	}
}

// mismatch is a value of the wrong kind in an object.
func mismatch(path []string, want string, got any) error {
	kind := jsonlite.KindOf(ViewOf(got).raw())
	return &DecodeError{Path: strings.Join(path, "."), Want: want, Got: kind.String()}
}
