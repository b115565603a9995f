package jsonlite

import (
	"cmp"
	"errors"
	"math"
	"reflect"
	"strconv"

	"github.com/kopf-wasm/kopf/abi"
)

// errEncode is a value that has no form in JSON.
var errEncode = errors.New("no form in JSON")

type (
	jsonMarshaler interface{ MarshalJSON() ([]byte, error) }
	textMarshaler interface{ MarshalText() ([]byte, error) }
)

// Encode is the JSON text of a value, without spaces, and with the keys of maps sorted.
func Encode(v any) ([]byte, error) { return Append(make([]byte, 0, usualValue), v) }

// usualValue is the size that most results and patches fit into.
const usualValue = 128

// Append adds the JSON text of a value to a buffer.
func Append(buf []byte, v any) ([]byte, error) { return appendAny(buf, v, 0) }

// appendAny takes the common types directly, the others by reflection.
func appendAny(buf []byte, v any, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return buf, ErrDepth
	}
	switch v := v.(type) {
	case nil:
		return append(buf, "null"...), nil
	case string:
		return AppendString(buf, v), nil
	case bool:
		return strconv.AppendBool(buf, v), nil
	case int:
		return strconv.AppendInt(buf, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(buf, v, 10), nil
	case float64:
		return appendFloat(buf, v, 64)
	case map[string]any:
		return appendMap(buf, v, depth)
	case []any:
		return appendList(buf, v, depth)
	}
	return appendValue(buf, reflect.ValueOf(v), depth)
}

//go:noinline
func appendMap(buf []byte, m map[string]any, depth int) ([]byte, error) {
	if m == nil {
		return append(buf, "null"...), nil
	}
	buf = append(buf, '{')
	var few [8]string // without an allocation
	for i, key := range sortKeys(few[:0], m) {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(AppendString(buf, key), ':')
		var err error
		if buf, err = appendAny(buf, m[key], depth+1); err != nil {
			return buf, err
		}
	}
	return append(buf, '}'), nil
}

// SortedKeys are the keys of a map in the order in which they are written.
func SortedKeys[V any](m map[string]V) []string {
	return sortKeys(make([]string, 0, len(m)), m)
}

// sortKeys appends the keys to an empty slice.
func sortKeys[V any](keys []string, m map[string]V) []string {
	for key := range m {
		keys = append(keys, key)
	}
	if len(keys) > 1 {
		sortKeysOf(keys, nil)
	}
	return keys
}

//go:noinline
func appendList(buf []byte, list []any, depth int) ([]byte, error) {
	if list == nil {
		return append(buf, "null"...), nil
	}
	buf = append(buf, '[')
	for i, item := range list {
		if i > 0 {
			buf = append(buf, ',')
		}
		var err error
		if buf, err = appendAny(buf, item, depth+1); err != nil {
			return buf, err
		}
	}
	return append(buf, ']'), nil
}

// appendFloat writes a number as encoding/json does.
//
//go:noinline
func appendFloat(buf []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return buf, errEncode
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(buf, f, format, -1, bits), nil
}

func appendValue(buf []byte, v reflect.Value, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return buf, ErrDepth
	}
	if buf, done, err := appendOwn(buf, v, depth); done {
		return buf, err
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(buf, "null"...), nil
		}
		return appendValue(buf, v.Elem(), depth+1)
	case reflect.Struct:
		return appendStruct(buf, v, depth)
	case reflect.Map:
		return appendMapping(buf, v, depth)
	case reflect.Slice, reflect.Array:
		return appendItems(buf, v, depth)
	}
	return appendScalar(buf, v)
}

// appendOwn lets a type write itself. A nil pointer never does.
//
//go:noinline
func appendOwn(buf []byte, v reflect.Value, depth int) (out []byte, done bool, err error) {
	if !v.IsValid() {
		return append(buf, "null"...), true, nil
	}
	if !v.CanInterface() || v.Kind() == reflect.Pointer && v.IsNil() || v.Kind() == reflect.Interface {
		return buf, false, nil
	}
	own := held(v)
	if v.CanAddr() && v.Kind() != reflect.Pointer { // also methods of the pointer
		own = held(v.Addr())
	}
	switch own := own.(type) {
	case *abi.Raw: // made by the host or by this package
		return appendRaw(buf, *own), true, nil
	case abi.Raw:
		return appendRaw(buf, own), true, nil
	case jsonMarshaler:
		text, err := own.MarshalJSON()
		if err == nil && !validAt(text, depth) {
			err = ErrSyntax
		}
		return append(buf, text...), true, err
	case textMarshaler:
		text, err := own.MarshalText()
		return AppendString(buf, string(text)), true, err
	}
	return buf, false, nil
}

// appendRaw copies a text that is known to be JSON.
func appendRaw(buf []byte, raw abi.Raw) []byte {
	if len(raw) == 0 {
		return append(buf, "null"...)
	}
	return append(buf, raw...)
}

//go:noinline
func appendScalar(buf []byte, v reflect.Value) ([]byte, error) {
	name := v.Type().String()
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		if name == "json.Number" { // of encoding/json, copied without a check; the host refuses text that is not a number
			return append(buf, cmp.Or(text, "0")...), nil
		}
		return AppendString(buf, text), nil
	case reflect.Bool:
		return strconv.AppendBool(buf, v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(buf, v.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.AppendUint(buf, v.Uint(), 10), nil
	case reflect.Float32, reflect.Float64:
		return appendFloat(buf, v.Float(), v.Type().Bits())
	}
	return noForm(buf, v)
}

//go:noinline
func noForm(buf []byte, v reflect.Value) ([]byte, error) {
	return buf, &EncodeError{Type: v.Type().String()}
}

//go:noinline
func appendStruct(buf []byte, v reflect.Value, depth int) ([]byte, error) {
	buf = append(buf, '{')
	fields, first := fieldsOf(v.Type()), true
	for i := range fields {
		f := &fields[i]
		item, ok := f.get(v)
		if !ok || f.omitEmpty && isEmpty(item) || f.omitZero && isZero(item) {
			continue
		}
		if !first {
			buf = append(buf, ',')
		}
		first = false
		buf = append(AppendString(buf, f.name), ':')
		var err error
		if buf, err = appendValue(buf, item, depth+1); err != nil {
			return buf, err
		}
	}
	return append(buf, '}'), nil
}

//go:noinline
func appendMapping(buf []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.IsNil() {
		return append(buf, "null"...), nil
	}
	if v.Type().Key().Kind() != reflect.String {
		return noForm(buf, v)
	}
	keys, values := entriesOf(v)
	buf = append(buf, '{')
	for i, key := range keys {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(AppendString(buf, key), ':')
		var err error
		if buf, err = appendValue(buf, values[i], depth+1); err != nil {
			return buf, err
		}
	}
	return append(buf, '}'), nil
}

// entriesOf are the keys of a map with their values, sorted.
//
//go:noinline
func entriesOf(v reflect.Value) (keys []string, values []reflect.Value) {
	keys, values = make([]string, 0, v.Len()), make([]reflect.Value, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		keys, values = append(keys, it.Key().String()), append(values, it.Value())
	}
	sortKeysOf(keys, values)
	return keys, values
}

//go:noinline
func appendItems(buf []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return append(buf, "null"...), nil
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return AppendString(buf, EncodeBase64(v.Bytes())), nil
	}
	buf = append(buf, '[')
	for i := 0; i < v.Len(); i++ {
		if i > 0 {
			buf = append(buf, ',')
		}
		var err error
		if buf, err = appendValue(buf, v.Index(i), depth+1); err != nil {
			return buf, err
		}
	}
	return append(buf, ']'), nil
}

// isEmpty is the rule of omitempty.
//
//go:noinline
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isZero is the rule of omitzero: the method IsZero decides, if there is one.
//
//go:noinline
func isZero(v reflect.Value) bool {
	if v.CanInterface() && !(v.Kind() == reflect.Pointer && v.IsNil()) {
		if own, ok := held(v).(interface{ IsZero() bool }); ok {
			return own.IsZero()
		}
	}
	return v.IsZero()
}

// EncodeError is a value of a type that has no form in JSON.
type EncodeError struct{ Type string }

// Error names the type.
func (e *EncodeError) Error() string { return "a value of type " + e.Type + " has no form in JSON" }

// Unwrap makes all these errors one sentinel.
func (e *EncodeError) Unwrap() error { return errEncode }
