package jsonlite

import (
	"reflect"
	"strconv"
)

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

func (d *decoder) mapping(raw []byte, kind Kind, v reflect.Value) error {
	if kind != Object {
		return d.mismatch("an object", kind)
	}
	t := v.Type()
	if t.Key().Kind() != reflect.String {
		return d.mismatch("nothing (keys of maps must be strings)", kind)
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(t))
	}
	s := Scan(raw)
	for s.Next() {
		key := s.Key()
		item := reflect.New(t.Elem()).Elem()
		if err := d.member(key, s.Value(), item); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), item)
	}
	return d.wrap(s.Err())
}

func (d *decoder) slice(raw []byte, kind Kind, v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return d.bytes(raw, kind, v)
	}
	if kind != Array {
		return d.mismatch("a list", kind)
	}
	out := reflect.MakeSlice(v.Type(), 0, 0)
	s := Scan(raw)
	for s.Next() {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := d.item(out.Len(), s.Value(), item); err != nil {
			return err
		}
		out = reflect.Append(out, item)
	}
	v.Set(out)
	return d.wrap(s.Err())
}

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
