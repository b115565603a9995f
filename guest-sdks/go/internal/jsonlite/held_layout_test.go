//go:build !tinygo && !go1.27

package jsonlite

import (
	"errors"
	"reflect"
	"testing"
)

// TestHeld compares with what reflect says itself, for values of all forms in memory:
// addressable and not, pointers by nature and not.
func TestHeld(t *testing.T) {
	number, text := 5, "x"
	type pointer struct{ P *int }
	type deep struct {
		Nothing struct{}
		List    [1]pointer
	}
	type all struct {
		Int     int
		Byte    byte
		Float   float64
		Complex complex128
		Text    string
		Pointer *int
		Nil     *int
		Map     map[string]int
		Slice   []string
		Array   [3]int
		One     [1]*int
		Single  pointer
		Deep    deep
		Chan    chan int
		Empty   struct{}
		Error   *EncodeError
	}
	value := all{
		1, 2, 2.5, 3i, text, &number, nil,
		map[string]int{"a": 1},
		[]string{"b"},
		[3]int{1, 2, 3},
		[1]*int{&number},
		pointer{&number},
		deep{List: [1]pointer{{&number}}},
		make(chan int),
		struct{}{},
		&EncodeError{"t"},
	}
	for name, v := range map[string]reflect.Value{
		"a struct": reflect.ValueOf(value), "an addressable struct": reflect.ValueOf(&value).Elem(),
	} {
		for i := range v.NumField() {
			field := v.Field(i)
			got, want := held(field), field.Interface()
			if !reflect.DeepEqual(got, want) || reflect.TypeOf(got) != reflect.TypeOf(want) {
				t.Errorf("%s: %s: %v, want %v", name, v.Type().Field(i).Name, got, want)
			}
		}
		if got := held(v); !reflect.DeepEqual(got, v.Interface()) {
			t.Errorf("%s: %v", name, got)
		}
	}
	it := reflect.ValueOf(map[string]pointer{"k": {&number}}).MapRange()
	it.Next()
	if got := held(it.Value()); got != (pointer{&number}) {
		t.Errorf("a value of a map: %v", got)
	}
	err, ok := held(reflect.ValueOf(&value).Elem().FieldByName("Error")).(error)
	if !ok || !errors.Is(err, errEncode) {
		t.Errorf("methods: %v", err)
	}
}
