package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestOddRefusals: whatever code and message a handler has, the user is shown the message.
func TestOddRefusals(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check"}})
	for _, tt := range []struct {
		message  string
		code     int
		wantCode int32
		wantText string
	}{
		{`"no code"`, 0, 500, "no code"},
		{`"negative"`, -5, 400, "negative"}, // the API server knows better
		{`"success"`, 200, 400, "success"},  // likewise
		{`"unknown"`, 999, 999, "unknown"},
		{`"too large"`, 1000, 500, "too large"},
		{`"very large"`, 1 << 40, 500, "very large"},
		{`""`, 409, 409, "AdmissionError('')"},
		{`"two\nlines"`, 409, 409, "two\nlines"},
		{`"größer als ☃"`, 409, 409, "größer als ☃"},
		{`"` + strings.Repeat("long", 5000) + `"`, 409, 409, strings.Repeat("long", 5000)},
	} {
		_, err := w.make(t, "refused", fmt.Sprintf("{do: refuse, message: %s, code: %d}", tt.message, tt.code))
		refusal(t, err, tt.wantCode, "denied the request: "+tt.wantText)
	}
}

// TestOddWarnings: they do no harm. The API server cuts long ones, and leaves out those
// that a header cannot have.
func TestOddWarnings(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check"}})
	client, seen := w.warnedClient(t)
	spec := `{do: say, texts: ["größer", "two\nlines", "", "\u0000", "a \"quoted\\one", "0123456789"], times: 1}`
	long := `{do: say, texts: ["0123456789"], times: 100000}`
	for i, spec := range []string{spec, long} {
		if _, err := client.Create(t.Context(), w.widget(t, fmt.Sprint("w", i), spec), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"größer", `a "quoted\one`, "0123456789", strings.Repeat("0123456789", 26)[:256]}
	if got := slices.DeleteFunc(seen.list, func(text string) bool { return text == "" }); !slices.Equal(got, want) {
		t.Errorf("warnings (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestOddPatches: what a mutation may say, and what it may not.
func TestOddPatches(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "fill"}})
	made, err := w.make(t, "keys", `{do: patch, list: [1, 2, 3], gone: 1, patch: {spec: {"a/b~c": 1, "": 2, "~1": {"/": ["~0"]}, list: [3, 1], gone: null, absent: null, patch: null}}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"do": "patch", "a/b~c": int64(1), "": int64(2), "~1": map[string]any{"/": []any{"~0"}}, "list": []any{int64(3), int64(1)}}
	if diff := cmp.Diff(want, made.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	large := w.widget(t, "large", "{}")
	large.Object["spec"] = map[string]any{"fill": strings.Repeat("x", 1_400_000), "do": "patch", "patch": map[string]any{"spec": map[string]any{"fill": "y"}}}
	if made, err := w.client().Create(t.Context(), large, metav1.CreateOptions{}); err != nil || made.Object["spec"].(map[string]any)["fill"] != "y" {
		t.Errorf("a large object: %v", err)
	}
	for _, patch := range []string{`{spec: {do: patch}}`, `{spec: {absent: null}}`, `{absent: null}`} {
		if _, err := w.make(t, "nothing", "{do: patch, patch: "+patch+"}"); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
		if err := w.client().Delete(t.Context(), "nothing", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	for patch, text := range map[string]string{
		`{kind: Other}`: "must be Widget", `{metadata: null}`: "name or generateName is required", `{metadata: {labels: {"no label": x}}}`: "Invalid value",
	} {
		_, err := w.make(t, "bad", "{do: patch, patch: "+patch+"}")
		refusal(t, err, 422, text)
	}
}

// TestOddRequests are those that users seldom make.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check fill"}})
	deep := w.widget(t, "deep", "{}")
	var inner any = "x"
	for range 900 {
		inner = map[string]any{"d": inner}
	}
	deep.Object["spec"] = map[string]any{"do": "patch", "deep": inner, "patch": map[string]any{"spec": map[string]any{"deep": map[string]any{"d": map[string]any{"e": int64(1)}}}}}
	unnamed := w.widget(t, "", "{}")
	unnamed.SetName("")
	unnamed.SetGenerateName("made-")
	for _, object := range []*unstructured.Unstructured{deep, unnamed} {
		if _, err := w.client().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: %v", object.GetName(), err)
		}
	}
	for size := range 2 {
		if _, err := w.client().Apply(t.Context(), "applied", w.widget(t, "applied", fmt.Sprintf("{size: %d}", size)), metav1.ApplyOptions{FieldManager: "me"}); err != nil {
			t.Error(err)
		}
	}
	_, err := w.client().Apply(t.Context(), "applied", w.widget(t, "applied", "{do: deny}"), metav1.ApplyOptions{FieldManager: "me"})
	refusal(t, err, 422, "the widget is bad")
	_, err = w.client().Patch(t.Context(), "applied", types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/do","value":"deny"}]`), metav1.PatchOptions{})
	refusal(t, err, 422, "the widget is bad")
	if _, err := w.client().Patch(t.Context(), "applied", types.MergePatchType, []byte(`{"status":{"x":1}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Errorf("a subresource without handlers: %v", err)
	}
	if err := w.client().Delete(t.Context(), "applied", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Error(err)
	}
	if err := w.client().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	var seen []string
	for _, r := range w.reviews(t, "applied") {
		seen = append(seen, fmt.Sprintf("%s by %s, dry: %t", r.Operation, r.Handler, r.DryRun))
	}
	want := []string{
		"CREATE by fill, dry: false", "CREATE by check, dry: false", "UPDATE by fill, dry: false", "UPDATE by check, dry: false",
		"UPDATE by fill, dry: false", "UPDATE by fill, dry: false", // refused by the first
		"DELETE by check, dry: true", "DELETE by check, dry: false",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("reviews (-want +got):\n%s", diff)
	}
}
