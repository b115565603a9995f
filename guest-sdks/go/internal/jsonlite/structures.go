package jsonlite

import (
	"reflect"
	"strconv"
)

//go:noinline
func (d *decoder) structure(raw []byte, kind Kind, v reflect.Value) error {
	if kind != Object {
		return d.mismatch("an object", kind)
	}
	fields := fieldsOf(v.Type())
	s := Scan(raw)
	for s.Next() {
		for i := range fields {
			f := &fields[i]
			if !s.KeyIs(f.name) {
				continue
			}
			if target, ok := f.make(v); ok {
				if err := d.member(f.name, s.Value(), target); err != nil {
					return err
				}
			}
			break
		}
	}
	return d.wrap(s.Err())
}

//go:noinline
func (d *decoder) mapping(raw []byte, kind Kind, v reflect.Value) error {
	if kind != Object {
		return d.mismatch("an object", kind)
	}
	if !makeMap(v) {
		return d.mismatch("nothing (keys of maps must be strings)", kind)
	}
	s := Scan(raw)
	for s.Next() {
		key, item := s.Key(), newItem(v)
		if err := d.member(key, s.Value(), item); err != nil {
			return err
		}
		setKey(v, key, item)
	}
	return d.wrap(s.Err())
}

// makeMap makes the map if there is none. It returns false if its keys are not strings.
//
//go:noinline
func makeMap(v reflect.Value) bool {
	t := v.Type()
	if t.Key().Kind() != reflect.String {
		return false
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(t))
	}
	return true
}

// newItem is a new value of the type of the items of a map or a slice.
//
//go:noinline
func newItem(v reflect.Value) reflect.Value { return reflect.New(v.Type().Elem()).Elem() }

//go:noinline
func setKey(v reflect.Value, key string, item reflect.Value) {
	v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), item)
}

//go:noinline
func (d *decoder) slice(raw []byte, kind Kind, v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return d.bytes(raw, kind, v)
	}
	if kind != Array {
		return d.mismatch("a list", kind)
	}
	out := newSlice(v)
	s := Scan(raw)
	for s.Next() {
		item := newItem(v)
		if err := d.item(out.Len(), s.Value(), item); err != nil {
			return err
		}
		out = appended(out, item)
	}
	v.Set(out)
	return d.wrap(s.Err())
}

//go:noinline
func newSlice(v reflect.Value) reflect.Value { return reflect.MakeSlice(v.Type(), 0, 0) }

//go:noinline
func appended(list, item reflect.Value) reflect.Value { return reflect.Append(list, item) }

//go:noinline
func (d *decoder) array(raw []byte, kind Kind, v reflect.Value) error {
	if kind != Array {
		return d.mismatch("a list", kind)
	}
	v.SetZero()
	s := Scan(raw)
	for i := 0; s.Next(); i++ {
		if i == v.Len() {
			return d.fail("a list of "+strconv.Itoa(v.Len()), "a longer one")
		}
		if err := d.item(i, s.Value(), v.Index(i)); err != nil {
			return err
		}
	}
	return d.wrap(s.Err())
}

// member decodes a value with its key added to the path.
func (d *decoder) member(key string, raw []byte, v reflect.Value) error {
	size := len(d.path)
	d.path = AppendKey(d.path, key)
	err := d.value(raw, v)
	d.path = d.path[:size]
	return err
}

// item decodes a value with its position added to the path.
func (d *decoder) item(index int, raw []byte, v reflect.Value) error {
	size := len(d.path)
	d.path = AppendIndex(d.path, index)
	err := d.value(raw, v)
	d.path = d.path[:size]
	return err
}

// AppendKey adds a key to a path: spec, then spec.size.
func AppendKey(path []byte, key string) []byte {
	if len(path) > 0 {
		path = append(path, '.')
	}
	return append(path, key...)
}

// AppendIndex adds a position in a list to a path: spec.items[0].
func AppendIndex(path []byte, index int) []byte {
	path = strconv.AppendInt(append(path, '['), int64(index), 10)
	return append(path, ']')
}
