package stores

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// FuzzPatchTexts compares the encoding of patches with that of encoding/json.
func FuzzPatchTexts(f *testing.F) {
	for _, text := range []string{"", "plain", "{\"a\":\"b\\\\\"}\n", "<a>&", "\t\r\b\f\x00\x7f", "é\u2028\u2029", "\xff", "a\xc0"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, key, text string) {
		changes := Object{key: text, "o" + key: Object{text: nil, "list": []any{text, Object{text: json.Number("1")}}, "true": true}}
		want, err := json.Marshal(changes)
		if err != nil {
			t.Fatal(err)
		}
		var patch Patch
		got, err := patch.Encode(changes)
		if err != nil || string(got) != string(want) {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	})
}

// FuzzKeys compares keys of ids with those that the rules of both versions make.
func FuzzKeys(f *testing.F) {
	for _, id := range []string{"", "fn", "a/b", "<locals>", "é", "\xff", string(slices.Repeat([]byte("x"), 46)), string(slices.Repeat([]byte("x"), 47)), string(slices.Repeat([]byte("x"), 64))} {
		f.Add("kopf.zalando.org", id, true)
		f.Add("a-very-long-prefix-that-leaves-no-room-for-any-name-in-the-first-version.example.com", id, false)
	}
	f.Fuzz(func(t *testing.T, prefix, id string, v1 bool) {
		naming := Naming{prefix: prefix, v1: v1}
		want := []string{naming.V2Key(id)}
		if old := naming.V1Key(id); v1 && old != want[0] {
			want = append(want, old)
		}
		if got := naming.Keys(id, nil); !slices.Equal(got, want) {
			t.Errorf("%q of %q: got %q, want %q", id, prefix, got, want)
		}
		for _, body := range []Object{{}, copying} {
			if got, want := naming.fixed(id).of(body), naming.Keys(id, body); !slices.Equal(got, want) {
				t.Errorf("%q of %q: got %q, want %q", id, prefix, got, want)
			}
		}
	})
}

// slowEssence copies the metadata first, and then removes what is no part of the essence.
func slowEssence(body Object) (Object, error) {
	essence := Object{}
	for key, value := range body {
		if !isSystem(key) {
			essence[key] = value
		}
	}
	if err := copyFields(body, essence, []Path{{"metadata", "labels"}, {"metadata", "annotations"}}); err != nil {
		return nil, err
	}
	if value, ok := dicts.Lookup(essence, "metadata", "annotations"); ok {
		annotations, ok := value.(Object)
		if !ok {
			return nil, fmt.Errorf("metadata.annotations: %w", dicts.ErrNotObject)
		}
		marked := markedPrefixes(annotations)
		maps.DeleteFunc(annotations, func(key string, _ any) bool { return key == kubectlAnnotation || isManaged(key, marked) })
	}
	return essence, removeEmptyStanzas(essence)
}

func TestEssencesOfAllKindsOfMetadata(t *testing.T) {
	parts := []string{
		`null`, `""`, `"x"`, `0`, `1`, `false`, `[]`, `[1]`, `{}`, `{"a":"b"}`, `{"a":{"b":[1]}}`, `{"kubectl.kubernetes.io/last-applied-configuration":"{}"}`,
		`{"kopf.zalando.org/x":"y"}`, `{"a.kopf.zalando.org/x":"y","b":"c"}`, `{"mine/kopf-managed":"yes","mine/x":"y","z":null}`, `{"mine/kopf-managed":"yes","mine/x":"y"}`,
	}
	bodies := []string{`{"spec":{"a":1}}`}
	for _, part := range parts {
		bodies = append(bodies, fmt.Sprintf(`{"metadata":%s,"spec":1}`, part),
			fmt.Sprintf(`{"metadata":{"labels":%s,"name":"n"},"spec":{"a":1}}`, part), fmt.Sprintf(`{"metadata":{"annotations":%s}}`, part))
		for _, other := range parts {
			bodies = append(bodies, fmt.Sprintf(`{"metadata":{"labels":%s,"annotations":%s,"name":"n"},"status":{}}`, part, other))
		}
	}
	for _, raw := range bodies {
		body, err := dicts.DecodeObject([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		before := string(dicts.Encode(body))
		want, wanted := slowEssence(body)
		got, err := BuildEssence(body, nil, nil)
		if fmt.Sprint(err) != fmt.Sprint(wanted) || errors.Is(err, dicts.ErrNotObject) != (wanted != nil) {
			t.Errorf("%s: got the error %v, want %v", raw, err, wanted)
		}
		if a, b := string(dicts.Encode(got)), string(dicts.Encode(want)); a != b {
			t.Errorf("%s: got %s, want %s", raw, a, b)
		}
		removeAnnotations(got, func(string) bool { return true })
		if after := string(dicts.Encode(body)); after != before {
			t.Errorf("%s: a change of the essence changes the body to %s", raw, after)
		}
	}
}

// A record that is prepared for a purge leaves the patch that storing and purging leave,
// with the same order of fields.
func TestRecordsForPurge(t *testing.T) {
	started := "2026-01-01T00:00:00Z"
	record := Record{Started: &started}
	bodies := []string{
		`{}`, `{"metadata":{"annotations":{}}}`, `{"metadata":{"annotations":{"kopf.zalando.org/fn":"{}","example.com/fn":"{}"}}}`,
		`{"metadata":{"annotations":{"kopf.zalando.org/fn":null}}}`, `{"kind":"ReplicaSet","metadata":{"ownerReferences":[{"kind":"Deployment"}]}}`,
		`{"status":{"kopf":{"progress":{"fn":{}}}}}`,
	}
	changes := []string{
		`{}`, `{"status":{}}`, `{"status":{"x":1}}`, `{"metadata":{}}`, `{"metadata":null}`, `{"metadata":{"annotations":{}}}`, `{"metadata":{"annotations":null}}`,
		`{"metadata":{"annotations":{"kopf.zalando.org/fn":"mine","a":"b"},"labels":{"a":"b"}},"spec":{}}`, `{"metadata":{"labels":{"a":"b"}},"spec":1}`,
	}
	for name, storage := range map[string]ProgressStorage{
		"default": DefaultProgressStorage(), "verbose": NewAnnotationsProgress(AnnotationsProgressOptions{Prefix: "example.com", Verbose: true}),
		"status": NewStatusProgress(StatusProgressOptions{}), "both": MultiProgress{NewAnnotationsProgress(AnnotationsProgressOptions{}), NewStatusProgress(StatusProgressOptions{})},
	} {
		for _, rawBody := range bodies {
			for _, rawChanges := range changes {
				for _, result := range []any{nil, "result"} {
					body := decoded(t, rawBody)
					purged := func(store func(id string, patch *Patch) error) string {
						var patch Patch
						patch.Merge(decoded(t, rawChanges))
						errs := []error{store("fn", &patch), store("other/fn", &patch)}
						if result != nil {
							errs = append(errs, patch.Set(Path{"status", "fn"}, result))
						}
						for _, id := range []string{"fn", "third", "other/fn"} {
							errs = append(errs, storage.Purge(id, body, &patch))
						}
						errs = append(errs, patch.Set(Path{"metadata", "annotations", "last"}, "x"))
						text, err := patch.Encode(patch.Object())
						return fmt.Sprintf("%s %t %v", text, patch.IsEmpty(), errors.Join(append(errs, err)...))
					}
					want := purged(func(id string, patch *Patch) error { return storage.Store(id, record, body, patch) })
					got := purged(func(id string, patch *Patch) error {
						return StoreForPurge(storage, id, func() Record { return record }, body, patch)
					})
					if got != want {
						t.Errorf("%s, body %s, patch %s:\n got %s\nwant %s", name, rawBody, rawChanges, got, want)
					}
				}
			}
		}
	}
}

func decoded(t *testing.T, raw string) Object {
	t.Helper()
	object, err := dicts.DecodeObject([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// A patch keeps the order in which any number of fields was set. A field that is removed and
// set again comes last.
func TestOrderOfManyFields(t *testing.T) {
	for _, count := range []int{1, fewFields - 1, fewFields, fewFields + 1, 10 * fewFields} {
		var patch Patch
		var want []string
		for n := range count {
			key := fmt.Sprint(1000 - n)
			want = append(want, fmt.Sprintf("%q:%d", key, n))
			if err := patch.Set(Path{"spec", key}, n); err != nil {
				t.Fatal(err)
			}
		}
		first := want[0]
		if err := errors.Join(patch.Remove(Path{"spec", "1000"}), patch.Remove(Path{"spec", "unknown"}), patch.Remove(Path{"none", "unknown"}), patch.Set(Path{"spec", "1000"}, 0)); err != nil {
			t.Fatal(err)
		}
		want = append(want[1:], first)
		got, err := patch.Encode(patch.Object())
		if text := `{"spec":{` + strings.Join(want, ",") + `}}`; err != nil || string(got) != text {
			t.Errorf("%d fields: got %s, %v; want %s", count, got, err, text)
		}
	}
}
