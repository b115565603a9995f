package clustertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestNamePrefix(t *testing.T) {
	tests := []struct{ name, test, want string }{
		{"plain", "TestCreate", "testcreate-"},
		{"subtest", "TestCreate/with_ümlaut", "testcreate-with-mlaut-"},
		{"long", strings.Repeat("x", 100), strings.Repeat("x", maxPrefix) + "-"},
		{"ends with a sign", "Test!", "test-"},
		{"cut at a sign", strings.Repeat("x", maxPrefix-1) + "/y", strings.Repeat("x", maxPrefix-1) + "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := namePrefix(tt.test); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	const one, two = "{apiVersion: v1, kind: A, metadata: {name: a}}", "apiVersion: v1\nkind: B\nmetadata:\n  name: b\n"
	tests := []struct {
		name, text string
		want       []string
		err        string
	}{
		{"nothing", "", nil, ""},
		{"one", one, []string{"A a"}, ""},
		{"several, and empty ones", "---\n" + one + "\n---\n# nothing\n---\n" + two, []string{"A a", "B b"}, ""},
		{"no name", one + "\n---\n{apiVersion: v1, kind: A}", nil, "document 2: no apiVersion, kind or metadata.name"},
		{"no YAML", "{", nil, "document 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, err := parse(tt.text)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want an error with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, object := range objects {
				got = append(got, object.GetKind()+" "+object.GetName())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServedKinds(t *testing.T) {
	objects, err := parse(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true}, {name: v1beta1, served: false}, {name: v2, served: true}]
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.GroupVersionKind{
		{Group: "example.com", Version: "v1", Kind: "Thing"},
		{Group: "example.com", Version: "v2", Kind: "Thing"},
	}
	if got := servedKinds(objects[0]); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseAudit(t *testing.T) {
	const log = `{"verb":"patch","user":{"username":"a"},"objectRef":{"resource":"things","name":"x"},"responseStatus":{"code":200},"requestObject":{"spec":1}}
{"verb":"list","user":{"username":"b"}}
{"verb":"watch","user":{"us`
	tests := []struct {
		name  string
		users []string
		want  []string
	}{
		{"all", nil, []string{"a patch", "b list"}},
		{"one", []string{"b"}, []string{"b list"}},
		{"other", []string{"c"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, err := parseAudit([]byte(log), tt.users)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, event := range events {
				got = append(got, event.User.Name+" "+event.Verb)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := parseAudit([]byte("{\n"), nil); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("damaged log: got %v, want the number of the line", err)
	}
}
