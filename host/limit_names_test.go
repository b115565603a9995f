package host

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestSetLimit(t *testing.T) {
	for _, test := range []struct {
		name, value string
		get         func(Options) any
		want        any
	}{
		{"MaxIdle", "3", func(o Options) any { return o.MaxIdle }, 3},
		{"MaxMemory", "64Mi", func(o Options) any { return o.MaxMemory }, 64 << 20},
		{"LogLimit", "2000", func(o Options) any { return o.LogLimit }, 2000},
		{"CompileMemory", "2Gi", func(o Options) any { return o.CompileMemory }, 2 << 30},
		{"RetireMemory", "1Ki", func(o Options) any { return o.RetireMemory }, 1 << 10},
		{"StopGrace", "1m30s", func(o Options) any { return o.StopGrace }, 90 * time.Second},
	} {
		var o Options
		if err := o.SetLimit(test.name, test.value); err != nil || test.get(o) != test.want {
			t.Errorf("%s=%s gives %v, error %v", test.name, test.value, test.get(o), err)
		}
	}
}

func TestSetLimitRefuses(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"MaxIdles", "3", "unknown limit MaxIdles: did you mean MaxIdle?"},
		{"Config", "3", "unknown limit Config"},
		{"MaxMemory", "100Gi", `limit MaxMemory: "100Gi" is above 2Gi, which is the most that an instance can have`},
		{"MaxIdle", "0", `limit MaxIdle: "0" is not a whole number above zero`},
		{"MaxIdle", "1Ki", "is not a whole number"},
		{"MaxMemory", "-1", `limit MaxMemory: "-1" is not a size above zero`},
		{"MaxMemory", "64MB", "is not a size"},
		{"MaxMemory", "9007199254740993Gi", "is not a size"},
		{"StopGrace", "3", `limit StopGrace: "3" is not a duration above zero`},
		{"StopGrace", "-3s", "is not a duration"},
	} {
		var o Options
		if err := o.SetLimit(test.name, test.value); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s=%s: error %v, want %q", test.name, test.value, err, test.want)
		}
		if !reflect.DeepEqual(o, Options{}) {
			t.Errorf("%s=%s changed something", test.name, test.value)
		}
	}
}

// TestAllLimitsHaveNames: each number and each duration among the options, and each is its own field.
func TestAllLimitsHaveNames(t *testing.T) {
	var o Options
	for _, name := range LimitNames() {
		if o.SetLimit(name, "1") != nil && o.SetLimit(name, "1ns") != nil {
			t.Errorf("%s cannot be set", name)
		}
	}
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		switch field := v.Type().Field(i); field.Type {
		case reflect.TypeFor[int](), reflect.TypeFor[time.Duration]():
			if v.Field(i).Int() != 1 {
				t.Errorf("%s was not set", field.Name)
			}
		}
	}
}
