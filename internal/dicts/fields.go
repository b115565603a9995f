package dicts

import "fmt"

// Resolve returns a nested field. If a key is absent, ok is false, without an error. A path
// through a value that is not an object gives ErrNotObject. These are the KeyError and the
// TypeError of the reference.
func Resolve(doc any, path Path) (value any, ok bool, err error) {
	for _, key := range path {
		obj, isObject := Open(doc).(Object)
		if !isObject {
			return nil, false, fmt.Errorf("%w: field %q of %s", ErrNotObject, key, kindOf(doc))
		}
		if doc, ok = obj[key]; !ok {
			return nil, false, nil
		}
	}
	return Open(doc), true, nil
}

// Lookup is Resolve without errors: it treats a value that is not an object as an empty
// object. This is the reference's resolve with a default.
func Lookup(doc any, path ...string) (value any, ok bool) {
	value, ok, err := Resolve(doc, path)
	return value, ok && err == nil
}

// LookupObject is Lookup for objects. It returns nil for other values.
func LookupObject(doc any, path ...string) Object {
	value, _ := Lookup(doc, path...)
	obj, _ := value.(Object)
	return obj
}

// LookupString is Lookup for strings. It returns an empty text for other values.
func LookupString(doc any, path ...string) string {
	value, _ := Lookup(doc, path...)
	text, _ := value.(string)
	return text
}

// Ensure sets a nested field, and creates missing parents. After an error, the object is
// unchanged. Errors: ErrRoot for an empty path; ErrNotObject if the path leads through a
// value that is not an object, such as null.
func Ensure(obj Object, path Path, value any) error {
	if len(path) == 0 {
		return ErrRoot
	}
	for _, key := range path[:len(path)-1] {
		if _, ok := obj[key]; !ok {
			obj[key] = Object{}
		}
		next, ok := own(obj, key).(Object)
		if !ok {
			return fmt.Errorf("%w: %s holds %s, so %q cannot be set", ErrNotObject, key, kindOf(obj[key]), path)
		}
		obj = next
	}
	obj[path[len(path)-1]] = value
	return nil
}

// Remove deletes a nested field, and then its empty parents. An absent field is not an
// error, and its empty parents are deleted, too.
func Remove(obj Object, path Path) error {
	switch len(path) {
	case 0:
		return ErrRoot
	case 1:
		delete(obj, path[0])
		return nil
	}
	next, ok := obj[path[0]]
	if !ok {
		return nil
	}
	child, ok := own(obj, path[0]).(Object)
	if !ok {
		return fmt.Errorf("%w: %s holds %s, so %q cannot be removed", ErrNotObject, path[0], kindOf(next), path)
	}
	if err := Remove(child, path[1:]); err != nil {
		return err
	}
	if len(child) == 0 {
		delete(obj, path[0])
	}
	return nil
}

// own returns the value of a key for changes. It replaces a Lazy by a copy of its value.
func own(obj Object, key string) any {
	if lazy, ok := obj[key].(*Lazy); ok {
		obj[key] = Clone(lazy.open())
	}
	return obj[key]
}
