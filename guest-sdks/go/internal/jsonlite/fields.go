package jsonlite

import (
	"reflect"
	"strings"
	"sync"
)

// field is a field of a struct that has a name in JSON.
type field struct {
	name      string
	index     []int // through embedded structs
	omitEmpty bool
	omitZero  bool
}

// fieldCache keeps the fields of the types that were met. There are few of them, so it is
// a list: a map with such keys would add more code than this package.
var fieldCache struct {
	sync.Mutex
	known []known
}

type known struct {
	t      reflect.Type
	fields []field
}

// fieldsOf lists the fields of a struct type, those of embedded structs included.
//
//go:noinline
func fieldsOf(t reflect.Type) []field {
	fieldCache.Lock()
	defer fieldCache.Unlock()
	for i := range fieldCache.known {
		if fieldCache.known[i].t == t {
			return fieldCache.known[i].fields
		}
	}
	fields := appendFields(nil, t, nil)
	fieldCache.known = append(fieldCache.known, known{t, fields})
	return fields
}

// appendFields adds the own fields of the struct first: they hide embedded ones.
func appendFields(fields []field, t reflect.Type, prefix []int) []field {
	var embedded []reflect.StructField
	for i := 0; i < t.NumField(); i++ {
		sf := t.Field(i)
		tag := jsonTag(string(sf.Tag))
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case sf.Anonymous && name == "" && structUnder(sf.Type) != nil:
			embedded = append(embedded, sf)
		case sf.PkgPath == "": // exported
			if name == "" {
				name = sf.Name
			}
			fields = addField(fields, field{
				name: name, index: join(prefix, sf.Index),
				omitEmpty: hasOption(options, "omitempty"),
				omitZero:  hasOption(options, "omitzero"),
			})
		}
	}
	for _, sf := range embedded {
		fields = appendFields(fields, structUnder(sf.Type), join(prefix, sf.Index))
	}
	return fields
}

// addField adds a field unless there is one of that name.
func addField(fields []field, f field) []field {
	for _, other := range fields {
		if other.name == f.name {
			return fields
		}
	}
	return append(fields, f)
}

// structUnder is the struct that the type is or points to, or nil.
func structUnder(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		return t
	}
	return nil
}

func join(a, b []int) []int { return append(append(make([]int, 0, len(a)+len(b)), a...), b...) }

// get finds the field in a struct. It returns false behind a nil pointer.
//
//go:noinline
func (f *field) get(v reflect.Value) (reflect.Value, bool) {
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

// make finds the field in a struct, making the structs that are pointed to. It
// returns false where that is impossible: pointers to unexported structs.
//
//go:noinline
func (f *field) make(v reflect.Value) (reflect.Value, bool) {
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				if !v.CanSet() {
					return reflect.Value{}, false
				}
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, v.CanSet()
}
