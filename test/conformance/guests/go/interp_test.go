package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

// script is a handler of a case, given as JSON.
func script(t *testing.T, text string) *handlerSpec {
	t.Helper()
	var spec handlerSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return &spec
}

// recorder is an interpreter whose lines are kept.
func recorder() (*interpreter, *[]string) {
	lines := &[]string{}
	return &interpreter{print: func(line string) { *lines = append(*lines, line) }}, lines
}

var obj = kopf.Map{"metadata": kopf.Map{"name": "obj1", "namespace": "ns"}, "spec": kopf.Map{"field": "one"}}

const created = `{"diff":[["add",[],null,{"spec":{"field":"one"}}]],"handler":"fn","name":"obj1","namespace":"ns",` +
	`"new":{"spec":{"field":"one"}},"old":null,"reason":"create","retry":0}`

func TestScriptsOfChanges(t *testing.T) {
	tests := []struct {
		name, script string
		lines        []string
		result       string
		patch        string
		failed       string
	}{
		{"nothing", `{}`, []string{created}, ``, ``, ``},
		{"silent", `{"silent": true, "do": [{"mark": "m"}]}`, []string{`{"handler":"fn","mark":"m","name":"obj1"}`}, ``, ``, ``},
		{"return", `{"silent": true, "do": [{"return": {"a": 1}}, {"mark": "never"}]}`, nil, `{"a":1}`, ``, ``},
		{
			"large numbers", `{"silent": true, "do": [{"patch_status": {"x": 9223372036854775807, "y": -9223372036854775808, "z": 9007199254740992}}, {"return": [9007199254740993, 0.5]}]}`,
			nil, `[9007199254740993,0.5]`, `{"status":{"x":9223372036854775807,"y":-9223372036854775808,"z":9007199254740992}}`, ``,
		},
		{"return nothing", `{"silent": true, "do": [{"return": null}]}`, nil, ``, ``, ``},
		{"conditions", `{"silent": true, "do": [{"if": {"retry_lt": 1, "name_is": "obj1", "spec_is": ["field", "one"]},
			"do": [{"if": {"spec_has": "other"}, "do": [{"return": 1}], "else": [{"return": 2}]}]}, {"return": 3}]}`, nil, `2`, ``, ``},
		{
			"patches", `{"silent": true, "do": [{"patch": {"spec": {"a": {"b": 1}}}}, {"patch": {"spec": {"a": {"c": null}}}}, {"patch_status": {"x": 1}},
			{"patch_labels": {"l": "v"}}, {"patch_annotations": {"n": null}}, {"patch_meta": {"labels": {"m": "w"}}}, {"patch_spec": {"s": []}}]}`, nil, ``,
			`{"metadata":{"annotations":{"n":null},"labels":{"l":"v","m":"w"}},"spec":{"a":{"b":1,"c":null},"s":[]},"status":{"x":1}}`, ``,
		},
		{
			"temporary", `{"silent": true, "do": [{"patch_status": {"x": 1}}, {"temporary": {"msg": "later", "delay": 1.5}}]}`, nil, ``,
			`{"status":{"x":1}}`, `temporary later {true false 1.5}`,
		},
		{"temporary at once", `{"silent": true, "do": [{"temporary": {"msg": "later", "delay": null}}]}`, nil, ``, ``, `temporary later {true true 0}`},
		{"temporary by default", `{"silent": true, "do": [{"temporary": {"msg": "later"}}]}`, nil, ``, ``, `temporary later {false false 0}`},
		{"permanent", `{"silent": true, "do": [{"permanent": {"msg": "never"}}]}`, nil, ``, ``, `permanent never {false false 0}`},
		{"arbitrary", `{"silent": true, "do": [{"arbitrary": {"msg": "boo"}}]}`, nil, ``, ``, `arbitrary boo {false false 0}`},
		{"arbitrary without a message", `{"silent": true, "do": [{"arbitrary_empty": {}}]}`, nil, ``, ``, `arbitrary  {false false 0}`},
		{"unknown operation", `{"silent": true, "do": [{"jump": 1}]}`, nil, ``, ``, `arbitrary unknown op: jump {false false 0}`},
		{"log of fields", `{"log": ["annotations", "finalizers", "runtime"]}`, []string{`{"annotations":{},` +
			`"diff":[["add",[],null,{"spec":{"field":"one"}}]],"finalizers":[],"handler":"fn","name":"obj1","namespace":"ns",` +
			`"new":{"spec":{"field":"one"}},"old":null,"reason":"create","retry":0,"runtime":0}`}, ``, ``, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in, lines := recorder()
			host := kopftest.New(t)
			out := host.Run(host.Change(kopftest.Fixture{ID: "fn", Body: obj}), in.change(script(t, tt.script)))
			failed := ""
			if e := out.Error; e != nil {
				failed = fmt.Sprintf("%s %s %v", e.Kind, e.Message, e.Delay)
			}
			if !reflect.DeepEqual(*lines, append([]string{}, tt.lines...)) {
				t.Errorf("lines\n got %s\nwant %s", *lines, tt.lines)
			}
			if got := string(out.Result.Raw()); got != tt.result {
				t.Errorf("result %s, want %s", got, tt.result)
			}
			if got := string(out.Patch.Raw()); got != tt.patch {
				t.Errorf("patch %s, want %s", got, tt.patch)
			}
			if failed != tt.failed {
				t.Errorf("error %s, want %s", failed, tt.failed)
			}
		})
	}
}

func TestLinesOfOtherKinds(t *testing.T) {
	in, lines := recorder()
	in.operator = "b"
	host := kopftest.New(t)
	fixture := kopftest.Fixture{
		ID: "fn", Body: obj, Param: 5, EventType: "DELETED", Activity: "startup", Admission: &kopftest.Admission{
			Operation: "UPDATE", DryRun: true, UserInfo: kopf.Raw(`{"username": "u"}`), Headers: map[string][]string{"Accept": {"x"}, "Other": {"y"}},
		},
		Old: kopf.Map{"spec": kopf.Map{"a": 1}, "x": 1}, New: kopf.Map{"spec": kopf.Map{"b": 2}},
	}
	spec := script(t, `{"name": "fn"}`)
	calls := []func() (any, error){
		func() (any, error) { return in.event(spec)(host.Event(fixture)) },
		func() (any, error) { return in.timer(spec)(host.Timer(fixture)) },
		func() (any, error) {
			return in.activity(spec)(host.Activity(kopftest.Fixture{ID: "fn", Activity: "startup"}))
		},
		func() (any, error) { return nil, in.review(spec)(host.Review(fixture)) },
	}
	for _, call := range calls {
		if _, err := call(); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		`{"handler":"fn","name":"obj1","namespace":"ns","operator":"b","param":5,"retry":0,"spec":{"field":"one"},"type":"DELETED"}`,
		`{"handler":"fn","name":"obj1","namespace":"ns","operator":"b","param":5,"retry":0,"spec":{"field":"one"}}`,
		`{"activity":"startup","handler":"fn","operator":"b","retry":0}`,
		`{"diff":[["add",["spec","b"],null,2],["remove",["spec","a"],1,null]],"dryrun":true,"handler":"fn","headers":["accept"],` +
			`"name":"obj1","namespace":"ns","new_spec":{"b":2},"old_spec":{"a":1},"operation":"UPDATE","operator":"b","param":5,"subresource":null,"user":"u"}`,
	}
	for i := range want {
		if (*lines)[i] != want[i] {
			t.Errorf("%d\n got %s\nwant %s", i, (*lines)[i], want[i])
		}
	}
}

func TestSubHandlersInAllWays(t *testing.T) {
	for via, ids := range map[string][]string{
		"": {"fn/a", "fn/own"}, "decorator": {"fn/a", "fn/own"}, "register": {"fn/a", "fn/own"},
		"execute-dict": {"fn/first", "fn/own"}, "execute-list": {"fn/a", "fn/b"}, "execute-registered": {"fn/a", "fn/own"},
	} {
		t.Run(via, func(t *testing.T) {
			first := `{"name": "a"}`
			if via == "execute-dict" {
				first = `{"name": "a", "id": "first"}`
			}
			in, lines := recorder()
			host := kopftest.New(t)
			out := host.Run(host.Change(kopftest.Fixture{ID: "fn", Body: obj}), in.change(script(t, `{"silent": true, "do": [
				{"subhandlers": {"via": "`+via+`", "list": [`+first+`, {"name": "b", "id": "own", "param": 1}]}}, {"mark": "after"}, {"return": 1}]}`)))
			if out.Error != nil || len(out.Children) != 2 || len(*lines) < 3 {
				t.Fatalf("%+v\n%s", out, *lines)
			}
			for _, id := range ids {
				if _, ok := out.Children[id]; !ok {
					t.Errorf("no child %s in %v", id, out.Children)
				}
			}
		})
	}
}

func TestFilters(t *testing.T) {
	tests := []struct {
		filter string
		value  any
		want   bool
	}{
		{`{"$fn": "eq", "arg": 1}`, 1, true},
		{`{"$fn": "eq", "arg": 1}`, "1", false},
		{`{"$fn": "ne", "arg": 1}`, nil, true},
		{`{"$fn": "in", "arg": ["a", "b"]}`, "b", true},
		{`{"$fn": "in", "arg": ["a", "b"]}`, nil, false},
		{`{"$fn": "in", "arg": "abc"}`, "b", true},
		{`{"$fn": "gt", "arg": 5}`, 6, true},
		{`{"$fn": "gt", "arg": 5}`, 5, false},
		{`{"$fn": "gt", "arg": 5}`, "6", false},
		{`{"$fn": "is_none"}`, nil, true},
		{`{"$fn": "is_str"}`, "", true},
		{`{"$fn": "true"}`, nil, true},
		{`{"$fn": "false"}`, nil, false},
		{`{"$fn": "not", "arg": {"$fn": "true"}}`, nil, false},
		{`{"$fn": "any", "arg": [{"$fn": "false"}, {"$fn": "true"}]}`, nil, true},
		{`{"$fn": "all", "arg": [{"$fn": "false"}, {"$fn": "true"}]}`, nil, false},
		{`{"$fn": "none", "arg": [{"$fn": "false"}]}`, nil, true},
	}
	for _, tt := range tests {
		in, _ := recorder()
		spec := kopf.JSON([]byte(tt.filter))
		filter := in.callback(normal(spec).(object), in.valueFunc)
		if got := filter(kopftest.New(t).Cause(kopftest.Fixture{Body: obj}, tt.value)); got != tt.want {
			t.Errorf("%s of %v is %v", tt.filter, tt.value, got)
		}
	}
}

// The value of a field that is absent is neither None nor anything else.
func TestFilterOfAbsentField(t *testing.T) {
	for filter, want := range map[string]bool{
		`{"$fn": "is_none"}`: false, `{"$fn": "is_str"}`: false, `{"$fn": "eq", "arg": null}`: false, `{"$fn": "ne", "arg": null}`: true,
		`{"$fn": "in", "arg": [null]}`: false, `{"$fn": "gt", "arg": 0}`: false, `{"$fn": "broken_if", "arg": null}`: true,
		`{"$fn": "true"}`: true, `{"$fn": "false"}`: false, `{"$fn": "not", "arg": {"$fn": "is_none"}}`: true,
	} {
		in, lines := recorder()
		spec := normal(kopf.JSON([]byte(filter))).(object)
		spec["log"] = true
		cause := kopftest.New(t).Cause(kopftest.Fixture{Body: obj}, nil)
		cause.Value = kopf.View{}
		if got := in.callback(spec, in.fieldFunc)(cause); got != want {
			t.Errorf("%s is %v", filter, got)
		}
		if spec["$fn"] != "not" && (len(*lines) != 1 || !strings.Contains((*lines)[0], `"value":"\u003c_UNSET\u003e"`)) {
			t.Errorf("%s printed %q", filter, *lines)
		}
	}
}

func TestWhen(t *testing.T) {
	tests := []struct {
		filter string
		want   bool
	}{
		{`{"$fn": "spec_eq", "arg": ["field", "one"]}`, true},
		{`{"$fn": "spec_eq", "arg": ["field", 1]}`, false},
		{`{"$fn": "spec_eq", "arg": ["absent", null]}`, true},
		{`{"$fn": "has_spec", "arg": "field"}`, true},
		{`{"$fn": "has_spec", "arg": "x"}`, false},
		{`{"$fn": "name_eq", "arg": "obj1"}`, true},
		{`{"$fn": "reason_is", "arg": "create"}`, true},
		{`{"$fn": "event_type_is", "arg": null}`, true},
		{`{"$fn": "not", "arg": {"$fn": "operation_is", "arg": "CREATE"}}`, true},
	}
	for _, tt := range tests {
		in, _ := recorder()
		filter := in.callback(normal(kopf.JSON([]byte(tt.filter))).(object), in.whenFunc)
		if got := filter(kopftest.New(t).Cause(kopftest.Fixture{Body: obj}, nil)); got != tt.want {
			t.Errorf("%s is %v", tt.filter, got)
		}
	}
}

func TestSettings(t *testing.T) {
	in := &interpreter{settings: object{
		"persistence.progress_storage": object{"storage": "annotations", "prefix": "kopf.dev"},
		"persistence.diffbase_storage": object{"storage": "multi", "storages": []any{object{"storage": "status", "name": "x"}}},
		"posting.level":                "WARNING",
	}}
	a := kopftest.New(t).Activity(kopftest.Fixture{Activity: "startup"})
	if _, err := in.configure(a); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"persistence.progress_storage": `{"prefix":"kopf.dev","type":"annotations"}`,
		"persistence.diffbase_storage": `[{"name":"x","type":"status"}]`,
		"posting.level":                `30`,
	} {
		if got := string(a.Settings.Get(name).Raw()); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestRepr(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "None", `true`: "True", `false`: "False", `1`: "1", `1.5`: "1.5", `"a"`: "'a'", `"it's"`: `"it's"`, `"'\""`: `'\'"'`,
		`["add", ["spec"], null, {"b": 1, "a": []}]`: "['add', ['spec'], None, {'a': [], 'b': 1}]",
	} {
		if got := repr(normal(kopf.JSON([]byte(text)))); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestMemoAndCounts(t *testing.T) {
	in, lines := recorder()
	host := kopftest.New(t)
	fn := in.change(script(t, `{"silent": true, "log": ["memo"], "do": [{"memo": {"a": 1}}, {"memo_count": "n"},
		{"if": {"calls_lt": 1}, "do": [{"mark": "first"}], "else": [{"mark": "again"}]}]}`))
	for range 2 {
		if _, err := fn(host.Change(kopftest.Fixture{ID: "fn", Body: obj})); err != nil {
			t.Fatal(err)
		}
	}
	if want := (kopf.Map{"a": int64(1), "n": int64(2)}); !reflect.DeepEqual(host.Memo["memo"], want) {
		t.Errorf("memo %v, want %v", host.Memo["memo"], want)
	}
	if want := []string{`{"handler":"fn","mark":"first","name":"obj1"}`, `{"handler":"fn","mark":"again","name":"obj1"}`}; !reflect.DeepEqual(*lines, want) {
		t.Errorf("lines %s", *lines)
	}
}

func TestDaemonLoop(t *testing.T) {
	in, lines := recorder()
	host := kopftest.New(t)
	host.StopAfter = 2
	if _, err := in.daemon(script(t, `{"silent": true, "do": [{"loop": {"interval": 1, "mark": "tick"}}]}`))(host.Daemon(kopftest.Fixture{ID: "fn", Body: obj})); err != nil {
		t.Fatal(err)
	}
	tick := `{"handler":"fn","mark":"tick","name":"obj1","spec":{"field":"one"}}`
	want := []string{tick, tick, `{"handler":"fn","mark":"stopped","name":"obj1","stop_reason":["DAEMON_SIGNALLED"]}`}
	if !reflect.DeepEqual(*lines, want) {
		t.Errorf("lines %s", *lines)
	}
}
