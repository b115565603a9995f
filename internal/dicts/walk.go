package dicts

import "fmt"

// Walk lists the objects in a value that is an object, a list of them, lists of
// lists, and so on. After each object come its fields that the nested paths
// name, as far as they exist. Null is nothing, even in lists; other scalars
// are listed as they are.
//
// Errors: ErrNotObject if a nested path leads through something that is no
// object, or if a text is to be walked (text is iterable in the reference, so
// it never ends there).
func Walk(objs any, nested []Path) ([]any, error) {
	return walk(nil, objs, nested)
}

func walk(list []any, objs any, nested []Path) (_ []any, err error) {
	switch objs := objs.(type) {
	case nil:
		return list, nil
	case Object:
		return walkFields(append(list, objs), objs, nested)
	case []any:
		for _, obj := range objs {
			if list, err = walk(list, obj, nested); err != nil {
				return nil, err
			}
		}
		return list, nil
	case string:
		if objs == "" {
			return list, nil
		}
		return nil, fmt.Errorf("%w: a string cannot be walked", ErrNotObject)
	default:
		return append(list, objs), nil
	}
}

func walkFields(list []any, obj Object, nested []Path) ([]any, error) {
	for _, path := range nested {
		value, ok, err := Resolve(obj, path)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, value)
		}
	}
	return list, nil
}
