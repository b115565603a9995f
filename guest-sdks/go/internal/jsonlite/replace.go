package jsonlite

import "reflect"

// Replace makes one part of a value what it is in a document. The path names the
// part by its keys in JSON, and the document is for the whole value. What is not at
// the path does not change, not even values without a form in JSON; a part that is not in the
// document is deleted: from a map the key, in a struct the field gets its zero value.
//
// The target is a map or a pointer. On the way, pointers and maps are made where
// there are none; structs in values of the type any become maps, since they cannot be
// changed in place. A type with UnmarshalJSON decodes its whole part of the document.
//
// Errors are of the type *DecodeError: a struct has no such field, unless it
// gets nothing (null, or an empty value), or the part does not fit its type. Then the
// part is unchanged.
func Replace(target, doc any, path ...string) error {
	v := reflect.ValueOf(target)
	if kind := v.Kind(); kind != reflect.Map && kind != reflect.Pointer || v.IsNil() {
		return &DecodeError{Want: "a map or a pointer to change", Got: "none"}
	}
	var d decoder
	return d.replace(v, doc, path)
}

func (d *decoder) replace(v reflect.Value, doc any, path []string) error {
	if len(path) == 0 || isRaw(v) {
		return d.assign(v, doc)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.replace(v.Elem(), doc, path)
	case reflect.Interface:
		return d.replaceInside(v, doc, path)
	case reflect.Struct:
		return d.replaceField(v, doc, path)
	case reflect.Map:
		return d.replaceKey(v, doc, path)
	}
	return d.mismatch("nothing below (type "+v.Type().String()+")", Object)
}

// replaceInside goes into what an interface holds, if that can be changed.
func (d *decoder) replaceInside(v reflect.Value, doc any, path []string) error {
	held := v.Elem()
	if !held.IsValid() {
		if v.NumMethod() > 0 {
			return d.mismatch("a type without methods", Object)
		}
		held = reflect.ValueOf(map[string]any{})
	}
	if held.Kind() != reflect.Pointer && held.Kind() != reflect.Map {
		return d.assignAny(v, doc)
	}
	if v.NumMethod() > 0 && !held.IsNil() { // in place: TinyGo sets no interfaces with methods
		return d.replace(held, doc, path)
	}
	copied := reflect.New(held.Type()).Elem()
	copied.Set(held)
	if err := d.replace(copied, doc, path); err != nil {
		return err
	}
	v.Set(copied)
	return nil
}

func (d *decoder) replaceField(v reflect.Value, doc any, path []string) error {
	fields := fieldsOf(v.Type())
	for i := range fields {
		f := &fields[i]
		if f.name != path[0] {
			continue
		}
		target, ok := f.make(v)
		if !ok {
			break
		}
		next, present := memberOf(doc, path[0])
		if !present && len(path) == 1 {
			target.SetZero()
			return nil
		}
		return d.below(target, next, path)
	}
	if isNothing(doc, path) {
		return nil
	}
	return d.below(reflect.Value{}, nil, path)
}

func (d *decoder) replaceKey(v reflect.Value, doc any, path []string) error {
	t := v.Type()
	if t.Key().Kind() != reflect.String {
		return d.mismatch("nothing (keys of maps must be strings)", Object)
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(t))
	}
	key := reflect.ValueOf(path[0]).Convert(t.Key())
	next, present := memberOf(doc, path[0])
	if !present && len(path) == 1 {
		v.SetMapIndex(key, reflect.Value{})
		return nil
	}
	item := reflect.New(t.Elem()).Elem()
	if old := v.MapIndex(key); old.IsValid() {
		item.Set(old)
	}
	if err := d.below(item, next, path); err != nil {
		return err
	}
	v.SetMapIndex(key, item)
	return nil
}

// below goes one key down. There is no field for the key if the value is invalid.
func (d *decoder) below(v reflect.Value, doc any, path []string) error {
	size := len(d.path)
	d.path = AppendKey(d.path, path[0])
	defer func() { d.path = d.path[:size] }()
	if !v.IsValid() {
		return d.fail("a field of the struct", "none with this name")
	}
	return d.replace(v, doc, path[1:])
}

// assign decodes into a new value, so that nothing of the old one remains.
func (d *decoder) assign(v reflect.Value, doc any) error {
	if v.Kind() == reflect.Interface {
		held := v.Elem()
		if doc == nil || held.Kind() != reflect.Map && held.Kind() != reflect.Slice {
			return d.assignAny(v, doc)
		}
		fresh, err := d.fresh(held.Type(), doc) // a map[string]string stays one
		if err == nil {
			v.Set(fresh)
		}
		return err
	}
	fresh, err := d.fresh(v.Type(), doc)
	if err == nil {
		v.Set(fresh)
	}
	return err
}

func (d *decoder) fresh(t reflect.Type, doc any) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	text, err := Encode(doc)
	if err != nil {
		return v, d.wrap(err)
	}
	return v, d.value(text, v)
}

// assignAny puts the document itself into an interface.
func (d *decoder) assignAny(v reflect.Value, doc any) error {
	switch {
	case v.NumMethod() > 0:
		return d.mismatch("a type without methods", Object)
	case doc == nil:
		v.SetZero()
	default:
		v.Set(reflect.ValueOf(doc))
	}
	return nil
}

func memberOf(doc any, key string) (any, bool) {
	m, _ := doc.(map[string]any)
	value, ok := m[key]
	return value, ok
}

// isNothing tells whether a document has no value at the path worth keeping.
func isNothing(doc any, path []string) bool {
	for _, key := range path {
		doc, _ = memberOf(doc, key)
	}
	switch doc := doc.(type) {
	case nil:
		return true
	case string:
		return doc == ""
	case map[string]any:
		return len(doc) == 0
	case []any:
		return len(doc) == 0
	}
	return false
}
