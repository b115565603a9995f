package declaration_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/declaration"
)

func parsed(t *testing.T, text string) *abi.Registration {
	t.Helper()
	r := &abi.Registration{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

// handlerOf is a registration with one handler of pods.
func handlerOf(kind, options string) string {
	return `{"handlers":[{"kind":"` + kind + `","id":"a","resource":{"args":["pods"]}` + strings.TrimSuffix(","+options, ",") + `}]}`
}

// What a new version of a handler wants beyond the one before.
func TestMoreOfOneHandler(t *testing.T) {
	tests := []struct{ name, kind, before, after, wider string }{
		{"nothing changes", "create", `"labels":{"a":"b"}`, `"labels": {"a": "b"}`, ""},
		{"another id and other retries", "create", `"fn":"f"`, `"id":"z","fn":"g","param":1,"errors":"PERMANENT","retries":3,"backoff":1,"timeout":5`, ""},
		{"a label filter is dropped", "create", `"labels":{"a":"b"}`, "", "labels"},
		{"one of two label filters is dropped", "create", `"labels":{"a":"b","c":"d"}`, `"labels":{"a":"b"}`, "labels"},
		{"a label filter for another value", "create", `"labels":{"a":"b"}`, `"labels":{"a":"c"}`, "labels"},
		{"a label filter for any value", "create", `"labels":{"a":"b"}`, `"labels":{"a":{"$":"PRESENT"}}`, "labels"},
		{"a label filter for one value of any", "create", `"labels":{"a":{"$":"PRESENT"}}`, `"labels":{"a":"c"}`, ""},
		{"a label filter for absence instead of presence", "create", `"labels":{"a":{"$":"PRESENT"}}`, `"labels":{"a":{"$":"ABSENT"}}`, "labels"},
		{"a label filter is added", "create", `"labels":{"a":"b"}`, `"labels":{"a":"b","c":"d"}`, ""},
		{"an annotation filter is dropped", "create", `"annotations":{"a":"b"}`, "", "annotations"},
		{"a callback is dropped", "create", `"when":{"$":"FUNCTION"}`, "", "when"},
		{"a callback is added", "create", "", `"when":{"$":"FUNCTION"}`, ""},
		{"a field is dropped", "update", `"field":["spec","x"]`, "", "field"},
		{"another field", "field", `"field":["spec","x"]`, `"field":["spec"]`, "field"},
		{"a value of a field is dropped", "update", `"field":["spec"],"value":1`, `"field":["spec"]`, "value"},
		{"values before and after are dropped", "update", `"field":["spec"],"old":1,"new":2`, `"field":["spec"]`, "new, old"},
		{"objects that are being deleted", "resume", "", `"deleted":true`, "deleted"},
		{"a finalizer", "delete", `"optional":true`, "", "optional"},
		{"no finalizer", "delete", "", `"optional":true`, ""},
		{"a daemon without an end", "daemon", `"cancellation_timeout":5`, "", "cancellation_timeout"},
		{"a daemon with a later end", "daemon", `"cancellation_timeout":5`, `"cancellation_timeout":6`, "cancellation_timeout"},
		{"a daemon with an earlier end", "daemon", `"cancellation_backoff":5`, `"cancellation_timeout":5`, ""},
		{"a daemon with time to clean up", "daemon", "", `"cancellation_backoff":5`, "cancellation_backoff"},
		{"another interval", "timer", `"interval":60`, `"interval":1,"idle":5`, ""},
		{"all operations", "validate", `"operations":["CREATE"]`, "", "operations"},
		{"more operations", "validate", `"operations":["CREATE"]`, `"operations":["CREATE","DELETE"]`, "operations"},
		{"fewer operations", "validate", `"operations":["CREATE","DELETE"]`, `"operations":["DELETE"]`, ""},
		{"some of all operations", "validate", "", `"operations":["DELETE"]`, ""},
		{"a subresource instead of the object", "validate", "", `"subresource":"status"`, "subresource"},
		{"all subresources", "validate", `"subresource":"status"`, `"subresource":"*"`, "subresource"},
		{"one of all subresources", "validate", `"subresource":"*"`, `"subresource":"status"`, ""},
		{"the object instead of all subresources", "validate", `"subresource":"*"`, "", "subresource"},
		{"failures count", "validate", `"ignore_failures":true`, "", "ignore_failures"},
		{"failures are ignored", "validate", "", `"ignore_failures":true`, "ignore_failures"},
		{"a configuration that stays", "mutate", "", `"persistent":true`, "persistent"},
		{"side effects", "mutate", "", `"side_effects":true`, "side_effects"},
		{"no side effects", "mutate", `"side_effects":true`, "", ""},
		{"another version", "convert", `"from":"v1","to":"v2"`, `"from":"v1","to":"v3"`, "to"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			more := declaration.More(parsed(t, handlerOf(tt.kind, tt.before)), parsed(t, handlerOf(tt.kind, tt.after)))
			var want []string
			if tt.wider != "" {
				want = []string{tt.kind + ` handlers of {"args":["pods"]} (wider: ` + tt.wider + `)`}
			}
			if fmt.Sprint(more) != fmt.Sprint(want) {
				t.Errorf("%q, want %q", more, want)
			}
		})
	}
}

// What a new version wants beyond the one before, as a whole.
func TestMoreOfAModule(t *testing.T) {
	const before = `{"handlers":[{"kind":"create","id":"a","resource":{"args":["pods"]},"labels":{"a":"b"}},{"kind":"create","id":"b","resource":{"args":["pods"]},"labels":{"c":"d"}}],
		"capabilities":{"kubernetes":[{"groups":[""],"resources":["secrets"],"verbs":["get","list"]}],"http":["example.com"],"config":["a"]}}`
	const empty = `"handlers":[],"capabilities":{"config":["a"]`
	tests := []struct{ name, after, words string }{
		{"equal", before, ""},
		{"less", `{` + empty + `}}`, ""},
		{"as the second of two handlers, and narrower", `{"handlers":[{"kind":"create","id":"z","resource":{"args":["pods"]},"labels":{"c":"d","e":"f"}}],"capabilities":{"config":["a"]}}`, ""},
		{"a part of each of two handlers", strings.Replace(before, `"labels":{"a":"b"}`, `"labels":{"e":"f"}`, 1), `create handlers of {"args":["pods"]} (wider: labels)`},
		{"another kind of handlers", strings.Replace(before, `"kind":"create","id":"b"`, `"kind":"daemon","id":"b"`, 1), `daemon handlers of {"args":["pods"]}`},
		{"another resource", strings.Replace(before, `["pods"]`, `["jobs"]`, 1), `create handlers of {"args":["jobs"]}`},
		{"a login", `{"handlers":[{"kind":"login","id":"l"}],"capabilities":{"config":["a"]}}`, "login handlers"},
		{"less of a request", `{` + empty + `,"kubernetes":[{"groups":[""],"resources":["secrets"],"verbs":["get"]}]}}`, ""},
		{"another verb", `{` + empty + `,"kubernetes":[{"groups":[""],"resources":["secrets"],"verbs":["get","delete"]}]}}`, "get,delete of secrets"},
		{"a subresource", `{` + empty + `,"kubernetes":[{"groups":[""],"resources":["secrets/x"],"verbs":["get"]}]}}`, "get of secrets/x"},
		{"other namespaces", `{` + empty + `,"kubernetes":[{"groups":[""],"resources":["secrets"],"verbs":["get"],"namespaces":["kube-system"]}]}}`, "(kube-system)"},
		{"another host", `{` + empty + `,"http":["evil.example.com"]}}`, "requests to evil.example.com"},
		{"another key", `{"handlers":[],"capabilities":{"config":["a","token"]}}`, "the configuration token"},
		{"no limit of keys", `{"handlers":[],"capabilities":{"http":["example.com"]}}`, "the whole configuration"},
		{"no capabilities", `{"handlers":[]}`, "the whole configuration"},
	}
	for _, tt := range tests {
		more := strings.Join(declaration.More(parsed(t, before), parsed(t, tt.after)), "; ")
		if (more == "") != (tt.words == "") || !strings.Contains(more, tt.words) {
			t.Errorf("%s: %q, want %q", tt.name, more, tt.words)
		}
	}
	if more := declaration.More(parsed(t, `{"handlers":[]}`), parsed(t, `{"handlers":[],"capabilities":{"config":["a"]}}`)); more != nil {
		t.Errorf("one key of a configuration that could be read as a whole: %q", more)
	}
}

// harmless are the fields of the registration that may change without being a right. An
// entry here is a decision that the field lets a module see, change, delay and refuse nothing more.
var harmless = map[string]bool{
	"Registration.sdk": true, "Registration.lifecycle": true, "Registration.shared_tasks": true, "Registration.error": true,
	"OperatorInfo.name": true, "OperatorInfo.version": true,
	"Handler.id": true, "Handler.fn": true, "Handler.param": true,
	"Handler.errors": true, "Handler.timeout": true, "Handler.retries": true, "Handler.backoff": true,
	"Handler.interval": true, "Handler.sharp": true, "Handler.idle": true, "Handler.initial_delay": true, "Handler.cancellation_polling": true,
}

// Each field of the registration is a right, or is known to be harmless. This walks the
// types of the contract, so that a new field cannot be forgotten.
func TestEachFieldIsARightOrKnownToBeHarmless(t *testing.T) {
	full := reflect.ValueOf(&abi.Registration{}).Elem()
	fill(full)
	seen := map[string]bool{}
	each(full, func(name string, field reflect.Value) {
		seen[name] = true
		is := field.Interface()
		for _, change := range []struct {
			what string
			to   reflect.Value
		}{{"it is lost", reflect.Zero(field.Type())}, {"it is another one", other(field)}} {
			after := clone(t, full)
			each(after, func(n string, f reflect.Value) {
				if n == name {
					f.Set(change.to)
				}
			})
			there := declaration.More(full.Addr().Interface().(*abi.Registration), after.Addr().Interface().(*abi.Registration))
			back := declaration.More(after.Addr().Interface().(*abi.Registration), full.Addr().Interface().(*abi.Registration))
			if harm := len(there)+len(back) > 0; harm == harmless[name] {
				t.Errorf("%s, %s (%v to %v): more %q, and back %q; harmless: %v", name, change.what, is, change.to, there, back, harmless[name])
			}
		}
	})
	for name := range harmless {
		if !seen[name] {
			t.Errorf("%s is no field of the registration", name)
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d fields were seen", len(seen))
	}
}

// each calls a function with all fields of structures in a value that are no structures themselves, by
// their types and names in JSON.
func each(v reflect.Value, do func(name string, field reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		each(v.Elem(), do)
	case reflect.Slice:
		for i := range v.Len() {
			each(v.Index(i), do)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if !holdsStructs(v.Field(i).Type()) {
				do(v.Type().Name()+"."+name, v.Field(i))
				continue
			}
			each(v.Field(i), do)
		}
	}
}

func holdsStructs(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

var raw = reflect.TypeFor[abi.Raw]()

// fill gives everything in a value some value of its own.
func fill(v reflect.Value) {
	switch {
	case v.Type() == raw:
		v.Set(reflect.ValueOf(abi.Raw(`"x"`)))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.Map:
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), element)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanFloat():
		v.SetFloat(1)
	default:
		panic("no value for " + v.Type().String())
	}
}

// other is another value than the one of fill.
func other(v reflect.Value) reflect.Value {
	o := reflect.New(v.Type()).Elem()
	fill(o)
	switch {
	case o.Type() == raw:
		return reflect.ValueOf(abi.Raw(`"y"`))
	case o.Kind() == reflect.Pointer:
		o.Elem().Set(other(o.Elem()))
	case o.Kind() == reflect.Slice:
		o.Index(0).Set(other(o.Index(0)))
	case o.Kind() == reflect.Map:
		o.SetMapIndex(reflect.ValueOf("key"), other(o.MapIndex(reflect.ValueOf("key"))))
	case o.Kind() == reflect.String:
		o.SetString("y")
	case o.Kind() == reflect.Bool:
		o.SetBool(false)
	case o.CanInt():
		o.SetInt(2)
	case o.CanFloat():
		o.SetFloat(2)
	}
	return o
}

func clone(t *testing.T, v reflect.Value) reflect.Value {
	t.Helper()
	text, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return reflect.ValueOf(parsed(t, string(text))).Elem()
}

// Comparing is bounded, however many handlers there are: what cannot be compared counts as more.
func TestMoreOfManyHandlers(t *testing.T) {
	many := func(label func(i int) string) *abi.Registration {
		var all []string
		for i := range 10_000 {
			all = append(all, fmt.Sprintf(`{"kind":"create","id":"x%d","resource":{"args":["pods"]},"labels":{%q:"v"}}`, i, label(i)))
		}
		return parsed(t, `{"handlers":[`+strings.Join(all, ",")+`]}`)
	}
	before := many(func(i int) string { return fmt.Sprint("a", i) })
	if more := declaration.More(before, many(func(i int) string { return fmt.Sprint("a", 9_999-i) })); more != nil {
		t.Errorf("equal but for the order: %q", more)
	}
	began := time.Now()
	more := declaration.More(before, many(func(i int) string { return fmt.Sprint("b", i) }))
	if len(more) == 0 || more[len(more)-1] != "more handlers than can be compared" {
		t.Errorf("%q", more)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
