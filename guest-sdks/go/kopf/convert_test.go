package kopf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

func toV2(c *kopf.Conversion) error {
	spec := kopf.Nested(c.Object, "spec")
	if size, ok := spec["size"]; ok {
		spec["replicas"] = size
		delete(spec, "size")
	}
	kopf.Nested(c.Object, "metadata")["name"] = "changed" // which does not count
	return nil
}

func toV1(c *kopf.Conversion) error {
	spec := kopf.Nested(c.Object, "spec")
	if replicas, ok := spec["replicas"]; ok {
		spec["size"] = replicas
		delete(spec, "replicas")
	}
	return nil
}

func forgetful(c *kopf.Conversion) error {
	c.Object["spec"] = kopf.Map{}
	return nil
}

func refusing(*kopf.Conversion) error { return errors.New("cannot be converted") }

// failures records what a test reports.
type failures struct {
	testing.TB
	list []string
}

func (f *failures) Helper() {}
func (f *failures) Errorf(format string, args ...any) {
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

func TestRoundTrip(t *testing.T) {
	object := kopf.Map{
		"apiVersion": "v1", "kind": "Widget", "spec": kopf.Map{"size": 5, "list": []any{1.5, "x", nil}},
		"metadata": kopf.Map{"name": "w", "labels": kopf.Map{"a": "b"}},
	}
	for _, tt := range []struct {
		name        string
		there, back kopf.ConvertFunc
		want        string
	}{
		{"good", toV2, toV1, ""},
		{"lossy", toV2, forgetful, `["remove",["spec","list"]`},
		{"one-way", toV2, func(*kopf.Conversion) error { return nil }, `["add",["spec","replicas"],null,5]`},
		{"failing", refusing, toV1, "from v1 to v2: cannot be converted"},
		{"failing back", toV2, refusing, "back from v2 to v1: cannot be converted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &failures{TB: t}
			kopftest.New(f).RoundTrip("v1", "v2", tt.there, tt.back, object, kopf.Map{"spec": kopf.Map{}})
			got := strings.Join(f.list, "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("failures %q, want %q", got, tt.want)
			}
		})
	}
}

func TestConversion(t *testing.T) {
	host := kopftest.New(t)
	c := host.Conversion(kopftest.Fixture{From: "v1", To: "v2", Body: kopf.Map{"metadata": kopf.Map{"name": "w", "namespace": "ns"}}})
	if c.From != "v1" || c.To != "v2" || c.Name != "w" || c.Namespace != "ns" {
		t.Errorf("%+v", c)
	}
}
