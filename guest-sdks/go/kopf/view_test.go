package kopf_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

const sample = `{"text": "a\"b", "int": 5, "big": 12345678901234567890, "float": 1.5, "exp": 1e3, "yes": true, "no": false, "null": null,
	"list": [1, {"x": "y"}, [2]], "map": {"b": 1, "a": {"c": "d"}}, "empty": {}, "dotted.key": 7}`

func TestViewScalars(t *testing.T) {
	v := kopf.JSON([]byte(sample))
	tests := []struct {
		key    string
		text   string
		number int
		float  float64
		yes    bool
		exists bool
		null   bool
	}{
		{"text", `a"b`, 0, 0, false, true, false},
		{"int", "5", 5, 5, false, true, false},
		{"big", "12345678901234567890", 0, 12345678901234567890, false, true, false},
		{"float", "1.5", 0, 1.5, false, true, false},
		{"exp", "1e3", 0, 1000, false, true, false},
		{"yes", "true", 0, 0, true, true, false},
		{"no", "false", 0, 0, false, true, false},
		{"null", "", 0, 0, false, true, true},
		{"list", `[1, {"x": "y"}, [2]]`, 0, 0, false, true, false},
		{"absent", "", 0, 0, false, false, true},
		{"dotted.key", "7", 7, 7, false, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.key, func(t *testing.T) {
			got := v.Get(tt.key)
			if got.String() != tt.text || got.Int() != tt.number || got.Float() != tt.float || got.Bool() != tt.yes {
				t.Errorf("%q, %d, %v, %v", got.String(), got.Int(), got.Float(), got.Bool())
			}
			if got.Exists() != tt.exists || got.IsNull() != tt.null || v.Has(tt.key) != tt.exists {
				t.Errorf("exists %v, null %v, has %v", got.Exists(), got.IsNull(), v.Has(tt.key))
			}
		})
	}
}

func TestViewPaths(t *testing.T) {
	v := kopf.JSON([]byte(sample))
	tests := []struct {
		path []any
		want string
	}{
		{nil, sample},
		{[]any{"map", "a", "c"}, `"d"`},
		{[]any{"list", 1, "x"}, `"y"`},
		{[]any{"list", 2, 0}, "2"},
		{[]any{"list", 3}, ""},
		{[]any{"list", -1}, ""},
		{[]any{"list", "x"}, ""},
		{[]any{"map", 0}, ""},
		{[]any{"absent", "deeper", 5, "still"}, ""},
		{[]any{"text", "x"}, ""},
		{[]any{1.5}, ""},
	}
	for _, tt := range tests {
		if got := v.Get(tt.path...).Raw(); string(got) != tt.want {
			t.Errorf("%v is %s, want %s", tt.path, got, tt.want)
		}
	}
}

func TestViewOfNothing(t *testing.T) {
	var v kopf.View
	if v.Exists() || v.Len() != 0 || v.Any() != nil || v.List() != nil || v.Get("a", 0).Exists() || v.Has("") || v.Raw() != nil {
		t.Error("nothing is something")
	}
	if m := v.Map(); m == nil || len(m) != 0 {
		t.Errorf("the map of nothing is %#v, want an empty one", m)
	}
	if text, err := json.Marshal(v); string(text) != "null" || err != nil {
		t.Errorf("nothing is written as %s (%v)", text, err)
	}
}

func TestViewContainers(t *testing.T) {
	v := kopf.JSON([]byte(sample))
	if got, want := v.Get("map").Map(), (kopf.Map{"b": int64(1), "a": kopf.Map{"c": "d"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("map %#v", got)
	}
	if got, want := v.Get("list").List(), []any{int64(1), kopf.Map{"x": "y"}, []any{int64(2)}}; !reflect.DeepEqual(got, want) {
		t.Errorf("list %#v", got)
	}
	if got := v.Get("map").Keys(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("keys %v", got)
	}
	if v.Get("map").Len() != 2 || v.Get("list").Len() != 3 || v.Get("text").Len() != 0 || v.Get("empty").Len() != 0 {
		t.Error("wrong lengths")
	}
	for key, value := range v.Get("map").Members() {
		if value.String() != v.Get("map", key).String() {
			t.Errorf("member %s is %s", key, value)
		}
	}
	for i, value := range v.Get("list").Items() {
		if value.String() != v.Get("list", i).String() {
			t.Errorf("item %d is %s", i, value)
		}
	}
	for range v.Get("map").Items() {
		t.Error("a map has items")
	}
	for range v.Get("list").Members() {
		t.Error("a list has members")
	}
}

func TestViewIterationEnds(t *testing.T) {
	v, n := kopf.JSON([]byte(sample)), 0
	for range v.Members() {
		n++
		break
	}
	for range v.Get("list").Items() {
		n++
		break
	}
	if n != 2 {
		t.Errorf("%d steps", n)
	}
}

func TestDecode(t *testing.T) {
	type inner struct {
		C string `json:"c"`
	}
	type spec struct {
		Int int              `json:"int"`
		Map map[string]inner `json:"map"`
	}
	body := kopf.JSON([]byte(`{"spec": {"int": 5, "map": {"a": {"c": "d"}}, "items": [{"size": "large"}]}}`))
	got, err := kopf.Decode[spec](body.Get("spec"))
	if want := (spec{5, map[string]inner{"a": {"d"}}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v (%v)", got, err)
	}
	_, err = kopf.Decode[struct {
		Size int `json:"size"`
	}](body.Get("spec", "items", 0))
	if want := "spec.items[0].size: want an integer, got a string"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	withDefaults := spec{Int: 7}
	if err := body.Get("spec", "absent").DecodeInto(&withDefaults); err != nil || withDefaults.Int != 7 {
		t.Errorf("%+v (%v)", withDefaults, err)
	}
}

func TestViewOf(t *testing.T) {
	if got := kopf.ViewOf(kopf.Map{"a": []int{1, 2}}).Get("a", 1).Int(); got != 2 {
		t.Errorf("got %d", got)
	}
	if kopf.ViewOf(func() {}).Exists() {
		t.Error("a function has a view")
	}
}

// TestPartsOfParts: what was not needed yet is found later as well.
func TestPartsOfParts(t *testing.T) {
	v := kopf.JSON([]byte(`{"spec":{"list":[{"a":1},{"b":[2]}],"text":"x"},"status":{}}`))
	spec := v.Get("spec")
	list := spec.Get("list")
	if got := list.Get(1, "b", 0).Int(); got != 2 {
		t.Errorf("spec.list[1].b[0] = %d", got)
	}
	if !spec.IsMap() || !list.IsList() || spec.Has("status") || spec.Get("status").Exists() {
		t.Error("a part sees what comes after it")
	}
	if got := string(list.Raw()); got != `[{"a":1},{"b":[2]}]` {
		t.Errorf("spec.list = %s", got)
	}
	if got := spec.Get("text").String(); got != "x" {
		t.Errorf("spec.text = %q", got)
	}
	if got := string(spec.Raw()); got != `{"list":[{"a":1},{"b":[2]}],"text":"x"}` {
		t.Errorf("spec = %s", got)
	}
	if got := string(list.Get(0).Raw()); got != `{"a":1}` {
		t.Errorf("spec.list[0] = %s", got)
	}
}
