package dicts

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var decodeSeeds = []string{
	`{"apiVersion":"v1","metadata":{"name":"a","labels":{},"managedFields":[{"f:spec":{}}]},"spec":{"n":[1,-0.5e+3,true,null,""]}}`,
	` [ ] `, `{"a":1,"a":2}`, `"\u00e9\n\"\\\/\ud83d\ude00"`, `"é\t"`, "\"\xff\"", `"\ud83d"`, `-`, `01`, `1.`, `1e`, `.5`, `-0`, `1E+2`,
	`{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[`, `{`, `"`, `"\`, `"\u12`, `"\x"`, `tru`, `nullx`, `{} {}`, "\"\x01\"", "\x00", `{"a":{"b":{"c":{"b":1}}},"b":1}`,
	`{"":{"b":{}},"b":{"":1}}`,
	strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	strings.Repeat("[", 20000) + strings.Repeat("]", 20000),
}

// FuzzDecode compares the decoder with encoding/json, which decides.
func FuzzDecode(f *testing.F) {
	for _, seed := range decodeSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want, err := decodeSlowly(raw)
		d := decoder{scanner: scanner{text: string(raw)}}
		if got, ok := d.document(); ok && (err != nil || !cmp.Equal(want, got)) {
			t.Fatalf("%q: got %v; encoding/json says %v, %v", raw, got, want, err)
		}
		keep := func(parent, key string) bool { return key != "b" }
		got, err := DecodeParts(raw, keep)
		wantObject, wantErr := DecodeObject(raw)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q in parts: got the error %v, whole %v", raw, err, wantErr)
		}
		delete(wantObject, "b")
		for key, part := range wantObject {
			if part, ok := part.(Object); ok && key != "" {
				delete(part, "b")
			}
		}
		if err == nil && !cmp.Equal(wantObject, got) {
			t.Fatalf("%q in parts: got %v, want %v", raw, got, wantObject)
		}
	})
}

// FuzzScan compares what is scanned with what encoding/json decodes.
func FuzzScan(f *testing.F) {
	for _, seed := range decodeSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := map[string]map[string]any{}
		ok := Scan(raw, func(parent, key string, value []byte) {
			decoded, err := decodeSlowly(value)
			if err != nil {
				t.Fatalf("%q: the member %q is scanned as %q: %v", raw, key, value, err)
			}
			if text, isText := decoded.(string); Text(value) != text || isText != (value[0] == '"') {
				t.Fatalf("%q: the text %q is scanned as %q", raw, text, Text(value))
			}
			key = strings.Clone(key)
			if parent == "" { // An object follows its members, so it replaces those of a twin.
				if _, isObject := decoded.(Object); !isObject {
					delete(got, "of "+key)
				}
				set(got, "", key, decoded)
				return
			}
			set(got, "of "+parent, key, decoded)
		})
		want, err := decodeSlowly(raw)
		obj, isObject := want.(Object)
		if !ok {
			return
		}
		if err != nil || !isObject {
			t.Fatalf("%q is scanned; encoding/json says %v, %v", raw, want, err)
		}
		for key, value := range obj {
			if !cmp.Equal(got[""][key], value) {
				t.Fatalf("%q: got %v, want %v", raw, got[""][key], value)
			}
			part, isObject := value.(Object)
			if !isObject || key == "" {
				continue
			}
			for inner, value := range part {
				if !cmp.Equal(got["of "+key][inner], value) {
					t.Fatalf("%q: got %v, want %v", raw, got["of "+key][inner], value)
				}
			}
		}
	})
}

func set(all map[string]map[string]any, parent, key string, value any) {
	if all[parent] == nil {
		all[parent] = map[string]any{}
	}
	all[parent][key] = value
}

// TestDecoderUnderstands makes sure that usual texts are not left to encoding/json.
func TestDecoderUnderstands(t *testing.T) {
	for _, text := range []string{decodeSeeds[0], decodeSeeds[3], `{"a":"{\"spec\":{}}\n"}`, ` { "é" : [ 1 , 2 ] } `} {
		d := decoder{scanner: scanner{text: text}}
		if doc, ok := d.document(); !ok {
			t.Errorf("%s: not understood, got %v", text, doc)
		}
	}
}

func TestDecodeParts(t *testing.T) {
	text := `{"metadata":{"name":"a","managedFields":[1]},"spec":{"managedFields":1,"x":{"spec":2}},"status":{}}`
	got, err := DecodeParts([]byte(text), func(parent, key string) bool {
		return key != "status" && (parent != "metadata" || key != "managedFields")
	})
	want := Object{"metadata": Object{"name": "a"}, "spec": Object{"managedFields": json.Number("1"), "x": Object{"spec": json.Number("2")}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, difference (-want +got):\n%s", err, diff)
	}
}

func BenchmarkDecode(b *testing.B) {
	text := []byte(body(600))
	for _, decode := range []struct {
		name string
		by   func([]byte) (any, error)
	}{
		{"ours", Decode},
		{"parts", func(raw []byte) (any, error) {
			return DecodeParts(raw, func(parent, key string) bool { return parent != "metadata" || key != "managedFields" })
		}},
		{"encoding/json", decodeSlowly},
	} {
		b.Run(decode.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := decode.by(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("scan", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			Scan(text, func(_, _ string, _ []byte) {})
		}
	})
}

// body is an object as an API server sends it.
func body(size int) string {
	spec := fmt.Sprintf(`{"field":"value","items":[1,2,3],"text":%q}`, strings.Repeat("x", size))
	essence, _ := json.Marshal(`{"spec":` + spec + "}\n") // a string cannot fail
	return `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"example-1","namespace":"default",` +
		`"uid":"0f1b8a2e-7d8d-4ab0-a2b4-3b0d5e1f2a3c","resourceVersion":"12345","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z",` +
		`"labels":{"app":"test"},"annotations":{"kopf.zalando.org/last-handled-configuration":` + string(essence) + `},` +
		`"managedFields":[{"apiVersion":"kopf.dev/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},` +
		`"f:spec":{".":{},"f:field":{},"f:items":{},"f:text":{}}},"manager":"kopf","operation":"Update","time":"2026-01-01T00:00:00Z"}]},` +
		`"spec":` + spec + `,"status":{"create_fn":{"field":"value"}}}`
}
