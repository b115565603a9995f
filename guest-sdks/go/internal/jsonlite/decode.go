package jsonlite

import "reflect"

// DecodeError is a value that does not fit the type it is decoded into.
type DecodeError struct {
	Path string // of the value, as in spec.items[0].name
	Want string // what the type needs
	Got  string // what there is
	Err  error  // of an own decoder of the type, if that failed
}

// Error names the field first, since that is what the reader has to look at.
func (e *DecodeError) Error() string {
	path := e.Path
	if path == "" {
		path = "value"
	}
	if e.Err != nil {
		return path + ": " + e.Err.Error()
	}
	return path + ": want " + e.Want + ", got " + e.Got
}

// Unwrap is the error of an own decoder of the type.
func (e *DecodeError) Unwrap() error { return e.Err }

// Decode decodes a value into what target points to. A missing value and null
// do not change it. The path is that of the value, for errors.
func Decode(raw []byte, target any, path string) error {
	v := reflect.ValueOf(target)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return &DecodeError{Path: path, Want: "a pointer to decode into", Got: "none"}
	}
	d := decoder{path: []byte(path)}
	return d.value(raw, v.Elem())
}

// decoder decodes by reflection, and knows where it is.
type decoder struct {
	path  []byte
	depth int
}

type (
	jsonUnmarshaler interface{ UnmarshalJSON(data []byte) error }
	textUnmarshaler interface{ UnmarshalText(text []byte) error }
)

func (d *decoder) value(raw []byte, v reflect.Value) error {
	kind := KindOf(raw)
	if kind == Missing || kind == Null && v.Kind() != reflect.Interface && !isRaw(v) {
		return nil
	}
	if d.depth >= maxDepth {
		return d.wrap(ErrDepth)
	}
	if done, err := d.own(raw, kind, v); done {
		return err
	}
	d.depth++
	err := d.plain(raw, kind, v)
	d.depth--
	return err
}

// own lets a type decode itself.
//
//go:noinline
func (d *decoder) own(raw []byte, kind Kind, v reflect.Value) (done bool, err error) {
	if !v.CanAddr() {
		return false, nil
	}
	switch own := v.Addr().Interface().(type) {
	case jsonUnmarshaler:
		return true, d.wrap(own.UnmarshalJSON(raw))
	case textUnmarshaler:
		if kind != String {
			return true, d.mismatch("a string", kind)
		}
		return true, d.wrap(own.UnmarshalText([]byte(Unquote(raw))))
	}
	return false, nil
}

// isRaw tells whether the type keeps the bytes as they come, a null included.
//
//go:noinline
func isRaw(v reflect.Value) bool {
	if v.Kind() == reflect.Pointer || !v.CanAddr() {
		return false
	}
	_, ok := v.Addr().Interface().(jsonUnmarshaler)
	return ok
}

// plain decodes into a type without a decoder of its own.
func (d *decoder) plain(raw []byte, kind Kind, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.value(raw, v.Elem())
	case reflect.Interface:
		return d.any(raw, v)
	case reflect.Struct:
		return d.structure(raw, kind, v)
	case reflect.Map:
		return d.mapping(raw, kind, v)
	case reflect.Slice:
		return d.slice(raw, kind, v)
	case reflect.Array:
		return d.array(raw, kind, v)
	}
	return d.scalar(raw, kind, v)
}

//go:noinline
func (d *decoder) any(raw []byte, v reflect.Value) error {
	decoded, err := anyAt(raw, d.depth)
	if err != nil {
		return d.wrap(err)
	}
	if v.NumMethod() > 0 {
		return d.mismatch("a type without methods", KindOf(raw))
	}
	if decoded == nil {
		v.SetZero()
	} else {
		v.Set(reflect.ValueOf(decoded))
	}
	return nil
}

//go:noinline
func (d *decoder) scalar(raw []byte, kind Kind, v reflect.Value) error {
	text := string(raw)
	switch v.Kind() {
	case reflect.String:
		switch {
		case kind == String:
			v.SetString(Unquote(raw))
		case kind == Number && v.Type().String() == "json.Number": // of encoding/json
			v.SetString(text)
		default:
			return d.mismatch("a string", kind)
		}
	case reflect.Bool:
		if kind != Bool {
			return d.mismatch("a boolean", kind)
		}
		v.SetBool(text == "true")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, ok := ParseInt(text)
		if !ok || v.OverflowInt(n) {
			return d.badNumber("an integer", kind, text)
		}
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		n, ok := ParseUint(text)
		if !ok || v.OverflowUint(n) {
			return d.badNumber("an integer that is not negative", kind, text)
		}
		v.SetUint(n)
	case reflect.Float32, reflect.Float64:
		f, ok := ParseFloat(raw, v.Type().Bits())
		if !ok {
			return d.badNumber("a number", kind, text)
		}
		v.SetFloat(f)
	default:
		return d.mismatch("nothing (type "+v.Type().String()+")", kind)
	}
	return nil
}

// badNumber shows the number itself, since it may just be too large.
//
//go:noinline
func (d *decoder) badNumber(want string, kind Kind, text string) error {
	if kind == Number && len(text) <= 32 {
		return d.fail(want, text)
	}
	return d.mismatch(want, kind)
}

//go:noinline
func (d *decoder) bytes(raw []byte, kind Kind, v reflect.Value) error {
	if kind != String {
		return d.mismatch("a string in base64", kind)
	}
	data, err := DecodeBase64(Unquote(raw))
	if err != nil {
		return d.wrap(err)
	}
	v.SetBytes(data)
	return nil
}

func (d *decoder) mismatch(want string, got Kind) error { return d.fail(want, got.String()) }

//go:noinline
func (d *decoder) fail(want, got string) error {
	return &DecodeError{Path: string(d.path), Want: want, Got: got}
}

// wrap adds the path to an error, unless it has one.
//
//go:noinline
func (d *decoder) wrap(err error) error {
	if err == nil || located(err) {
		return err
	}
	return &DecodeError{Path: string(d.path), Err: err}
}

// located tells whether an error has a path already. errors.As panics in modules that are
// built by TinyGo 0.34.
func located(err error) bool {
	for err != nil {
		switch e := err.(type) { //nolint:errorlint // the chain is walked here
		case *DecodeError:
			return true
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		default:
			return false
		}
	}
	return false
}
