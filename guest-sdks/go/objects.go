package kopf

import (
	"reflect"

	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// ObjectTypeError is something that is no object, or one that cannot be changed.
type ObjectTypeError struct{ Type string }

// Error says what there should be.
func (e *ObjectTypeError) Error() string {
	return "want maps, pointers to structs, or lists of them as objects, got " + e.Type
}

// eachObject changes objects in place, however they are given.
func eachObject(objects any, change func(Map)) error {
	switch objects := objects.(type) {
	case nil:
		return nil
	case Map:
		change(objects)
		return nil
	case []Map:
		for _, object := range objects {
			change(object)
		}
		return nil
	}
	v := reflect.ValueOf(objects)
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
		for i := 0; i < v.Len(); i++ {
			if err := eachObject(v.Index(i).Interface(), change); err != nil {
				return err
			}
		}
		return nil
	}
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return &ObjectTypeError{v.Type().String()}
	}
	return changeStruct(v.Elem(), change)
}

// changeStruct changes a struct through its JSON form. Fields that are not in
// that form get lost.
func changeStruct(v reflect.Value, change func(Map)) error {
	text, err := Encode(v.Interface())
	if err != nil {
		return err
	}
	object := JSON(text).Map()
	change(object)
	if text, err = Encode(object); err != nil {
		return err
	}
	changed := reflect.New(v.Type())
	if err := jsonlite.Decode(text, changed.Interface(), ""); err != nil {
		return err
	}
	v.Set(changed.Elem())
	return nil
}
