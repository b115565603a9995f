package host

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
)

// filled fills all fields of a value, at any depth, with values that differ.
func filled(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch {
	case v.Type() == reflect.TypeFor[abi.Raw]():
		v.Set(reflect.ValueOf(abi.Raw(`{"a": [1, "<ü>", null]}`)))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(t, v.Elem(), n)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			filled(t, v.Field(i), n)
		}
	case v.Kind() == reflect.String:
		v.SetString("text <\"ü\x00😀> " + string(rune('a'+*n)))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(*n))
	case v.CanUint():
		v.SetUint(uint64(*n))
	case v.Kind() == reflect.Float64:
		v.SetFloat(float64(*n) / 7)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.ValueOf([]string{"one", "two é"}))
	case v.Kind() == reflect.Map:
		v.Set(reflect.ValueOf(map[string][]string{"A": {"x", "y"}, "B\"": {}}))
	default:
		t.Fatalf("a field of type %v", v.Type())
	}
}

// TestHeaders: a header has all fields, as the standard library encodes them.
func TestHeaders(t *testing.T) {
	full, n := &abi.Invocation{}, 0
	filled(t, reflect.ValueOf(full).Elem(), &n)
	common := *full
	common.Settings, common.Logins, common.Conversion = nil, nil, nil
	other := "MODIFIED"
	for name, inv := range map[string]*abi.Invocation{
		"everything": full, "all but the rare fields": &common, "nothing": {},
		"small parts":       {Resource: &abi.ResourceInfo{}, Admission: &abi.Admission{}, EventType: &other},
		"one header":        {Admission: &abi.Admission{Headers: map[string][]string{"Host": {"x"}}}},
		"a tiny number":     {Runtime: 1e-9},
		"a small number":    {Runtime: (12 * time.Microsecond).Seconds()},
		"a negative number": {Runtime: -1.5, Retry: -1},
		"a huge number":     {Runtime: 1e22},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(inv)
			if err != nil {
				t.Fatal(err)
			}
			got, err := headerOf(inv)
			if err != nil {
				t.Fatal(err)
			}
			sameMeaning(t, want, got)
		})
	}
}

// sameMeaning checks that two texts of JSON mean the same.
func sameMeaning(t *testing.T, want, got []byte) {
	t.Helper()
	var wanted, has any
	if err := json.Unmarshal(want, &wanted); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &has); err != nil {
		t.Fatalf("%v: %q", err, got)
	}
	if diff := cmp.Diff(wanted, has); diff != "" {
		t.Errorf("%q\n%q (-want +got):\n%s", want, got, diff)
	}
}
