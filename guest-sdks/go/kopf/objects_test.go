package kopf

import (
	"errors"
	"reflect"
	"testing"
)

// opaque has what JSON does not carry over.
type opaque struct {
	Kind string `json:"kind"`
	Meta *struct {
		Name         string            `json:"name"`
		GenerateName string            `json:"generateName"`
		Namespace    string            `json:"namespace"`
		Labels       map[string]string `json:"labels"`
		Owners       []Map             `json:"ownerReferences"`
		Notes        string            `json:"-"`
	} `json:"metadata"`
	Spec struct {
		Template map[string]any `json:"template"`
	} `json:"spec"`
	Client func() `json:"-"`
	hidden int
}

func TestAdoptionTouchesNothingElse(t *testing.T) {
	child := opaque{Kind: "Pod", Client: func() {}, hidden: 5}
	child.Spec.Template = Map{"replicas": 3}
	if err := OwnerOf(parentBody).Adopt(&child, Adoption{Nested: [][]string{{"spec", "template"}, {"spec", "absent"}}}); err != nil {
		t.Fatal(err)
	}
	child.Meta.Notes = "mine"
	if err := OwnerOf(parentBody).Adopt([]opaque{child}[:], Adoption{Strict: true, Forced: true}); err != nil {
		t.Fatal(err)
	}
	if child.Client == nil || child.hidden != 5 || child.Meta.Notes != "mine" {
		t.Errorf("lost: %+v", child)
	}
	want := Map{"replicas": 3, "metadata": Map{"labels": Map{"a": "b"}}}
	if !reflect.DeepEqual(child.Spec.Template, want) {
		t.Errorf("the template is %#v", child.Spec.Template)
	}
	if m := child.Meta; m.Name != "own" || m.GenerateName != "" || m.Namespace != "ns" || len(m.Owners) != 1 {
		t.Errorf("the metadata is %+v", m) // the pointer is shared with the copy in the list
	}
}

func TestTypesInMapsStay(t *testing.T) {
	typed := &opaque{}
	child := Map{
		"metadata": Map{"labels": map[string]string{"x": "y"}, "ownerReferences": []Map{{"uid": "other"}}},
		"spec":     Map{"template": typed},
	}
	if err := OwnerOf(parentBody).Adopt(child, Adoption{Nested: [][]string{{"spec", "template"}}}); err != nil {
		t.Fatal(err)
	}
	meta := child["metadata"].(Map)
	if want := map[string]string{"x": "y", "a": "b"}; !reflect.DeepEqual(meta["labels"], want) {
		t.Errorf("labels %#v", meta["labels"])
	}
	if refs, ok := meta["ownerReferences"].([]Map); !ok || len(refs) != 2 || refs[1]["uid"] != "u" {
		t.Errorf("owner references %#v", meta["ownerReferences"])
	}
	if typed.Meta == nil || typed.Meta.Labels["a"] != "b" || typed.Meta.Name != "" {
		t.Errorf("the template %+v", typed.Meta)
	}
}

func TestChildrenShareNothing(t *testing.T) {
	first, second := Map{}, Map{}
	if err := OwnerOf(parentBody).Adopt([]Map{first, second}); err != nil {
		t.Fatal(err)
	}
	first["metadata"].(Map)["ownerReferences"].([]any)[0].(Map)["uid"] = "changed"
	first["metadata"].(Map)["labels"].(Map)["a"] = "changed"
	if got := ViewOf(second).Get("metadata"); got.Get("ownerReferences", 0, "uid").String() != "u" || got.Get("labels", "a").String() != "b" {
		t.Errorf("the other child became %s", got)
	}
}

func TestNullsAreNothing(t *testing.T) {
	var noLabels map[string]string
	var noRefs []Map
	child := Map{"metadata": Map{"name": nil, "labels": noLabels, "ownerReferences": noRefs}, "spec": Map{"template": nil}}
	if err := OwnerOf(parentBody).Adopt(child, Adoption{Nested: [][]string{{"spec", "template"}}}); err != nil {
		t.Fatal(err)
	}
	got := ViewOf(child)
	if got.Get("metadata", "generateName").String() != "own-" || got.Get("metadata", "labels", "a").String() != "b" ||
		got.Get("metadata", "ownerReferences").Len() != 1 || !got.Get("spec", "template").IsNull() {
		t.Errorf("got %s", got)
	}
}

func TestGarbageIsNotOverwritten(t *testing.T) {
	tests := []struct {
		name, path string
		child      Map
	}{
		{"metadata", "metadata", Map{"metadata": "text"}},
		{"labels", "metadata.labels", Map{"metadata": Map{"labels": []any{"a"}}}},
		{"owners", "metadata.ownerReferences", Map{"metadata": Map{"ownerReferences": Map{}}}},
		{"nested", "spec", Map{"spec": "text"}},
		{"nested metadata", "spec.template.metadata", Map{"spec": Map{"template": Map{"metadata": 5}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := ViewOf(test.child).Get("spec").String()
			var wrong *DecodeError
			err := OwnerOf(parentBody).Adopt(test.child, Adoption{Nested: [][]string{{"spec", "template"}}})
			if !errors.As(err, &wrong) || wrong.Path != test.path {
				t.Errorf("the error is %v", err)
			}
			if after := ViewOf(test.child).Get("spec").String(); after != before {
				t.Errorf("the spec became %s", after)
			}
		})
	}
	if err := OwnerOf(Map{"metadata": Map{"name": "n"}}).Adopt(Map{"metadata": Map{"ownerReferences": []Map{{}}}}); !errors.Is(err, errOwnerUID) {
		t.Errorf("an owner without uid: %v", err)
	}
}
