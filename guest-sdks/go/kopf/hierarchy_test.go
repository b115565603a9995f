package kopf

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

// vector is one recorded call of a function of Kopf.
type vector struct {
	In struct {
		Fn        string `json:"fn"`
		Objs      any    `json:"objs"`
		Owner     Map    `json:"owner"`
		Labels    Map    `json:"labels"`
		Name      string `json:"name"`
		Namespace any    `json:"namespace"`
		Outside   bool   `json:"outside_of_handlers"`
		Kwargs    struct {
			Forced     bool `json:"forced"`
			Strict     bool `json:"strict"`
			Nested     any  `json:"nested"`
			Controller any  `json:"controller"`
			Block      any  `json:"block_owner_deletion"`
		} `json:"kwargs"`
	} `json:"in"`
	Out   any    `json:"out"`
	Error string `json:"error"`
}

func TestHierarchiesAsRecorded(t *testing.T) {
	text, err := os.ReadFile("../../../test/conformance/vectors/hierarchies.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, text := range file.Cases {
		var v vector
		// absent flags are true, null ones are omitted
		v.In.Kwargs.Controller, v.In.Kwargs.Block = true, true
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		err := v.call()
		if (v.Error != "") != (err != nil) {
			t.Errorf("%s: error %v", text, err)
		}
		if v.Error == "" && !sameJSON(t, v.In.Objs, v.Out) {
			t.Errorf("%s\ngot %v", text, v.In.Objs)
		}
	}
}

// keysOf are the keys of a field: a text with dots, or a list of them.
func keysOf(field any) (keys []string) {
	list, ok := field.([]any)
	if !ok {
		return strings.Split(field.(string), ".")
	}
	for _, key := range list {
		keys = append(keys, key.(string))
	}
	return keys
}

// call calls the function, with options as Kopf has them.
func (v *vector) call() error {
	how := Adoption{
		Forced: v.In.Kwargs.Forced, Strict: v.In.Kwargs.Strict, Labels: v.In.Labels, Name: v.In.Name,
		Controller: flagOf(v.In.Kwargs.Controller), BlockOwnerDeletion: flagOf(v.In.Kwargs.Block),
	}
	switch nested := v.In.Kwargs.Nested.(type) {
	case string:
		how.Nested = [][]string{strings.Split(nested, ".")}
	case []any:
		for _, field := range nested {
			how.Nested = append(how.Nested, keysOf(field))
		}
	}
	var owner Owner
	if v.In.Owner != nil {
		owner = OwnerOf(v.In.Owner)
	}
	switch v.In.Fn {
	case "adopt":
		return owner.Adopt(v.In.Objs, how)
	case "append_owner_reference":
		return owner.AppendOwnerReference(v.In.Objs, how)
	case "remove_owner_reference":
		return owner.RemoveOwnerReference(v.In.Objs)
	case "label":
		return owner.Label(v.In.Objs, how)
	case "harmonize_naming":
		return owner.HarmonizeNaming(v.In.Objs, how)
	case "adjust_namespace":
		namespace, _ := v.In.Namespace.(string)
		how.Namespace = &namespace
		return owner.AdjustNamespace(v.In.Objs, how)
	}
	return errors.New("unknown function " + v.In.Fn)
}

func flagOf(value any) OwnerFlag {
	switch value {
	case true:
		return FlagTrue
	case false:
		return FlagFalse
	}
	return FlagOmitted
}

func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	var values [2]any
	for i, value := range []any{a, b} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &values[i]); err != nil {
			t.Fatal(err)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

type typedMeta struct {
	Name            string            `json:"name,omitempty"`
	GenerateName    string            `json:"generateName,omitempty"`
	Namespace       string            `json:"namespace,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	OwnerReferences []struct {
		UID        string `json:"uid"`
		Controller bool   `json:"controller"`
	} `json:"ownerReferences,omitempty"`
}

type typedPod struct {
	Kind string    `json:"kind"`
	Meta typedMeta `json:"metadata"`
}

var parentBody = Map{"apiVersion": "g/v1", "kind": "K", "metadata": Map{"name": "own", "namespace": "ns", "uid": "u", "labels": Map{"a": "b"}}}

func TestAdoptTypedObjects(t *testing.T) {
	first, second := &typedPod{Kind: "Pod"}, &typedPod{Kind: "Pod", Meta: typedMeta{GenerateName: "x-"}}
	plain := Map{"metadata": Map{"ownerReferences": []Map{{"uid": "other"}}}}
	if err := OwnerOf(parentBody).Adopt([]any{[]*typedPod{first}, second, []Map{plain}}, Adoption{Strict: true, Forced: true}); err != nil {
		t.Fatal(err)
	}
	for _, pod := range []*typedPod{first, second} {
		m := pod.Meta
		if pod.Kind != "Pod" || m.Name != "own" || m.GenerateName != "" || m.Namespace != "ns" || m.Labels["a"] != "b" ||
			len(m.OwnerReferences) != 1 || m.OwnerReferences[0].UID != "u" || !m.OwnerReferences[0].Controller {
			t.Errorf("adopted as %+v", pod)
		}
	}
	if refs := ViewOf(plain).Get("metadata", "ownerReferences"); refs.Len() != 2 || refs.Get(0, "uid").String() != "other" {
		t.Errorf("owner references %s", refs)
	}
}

func TestAdoptWhatCannotBe(t *testing.T) {
	owner := OwnerOf(ViewOf(parentBody))
	for _, object := range []any{5, "pod", typedPod{}, (*typedPod)(nil), []any{Map{}, 5}, map[string]string{}} {
		var typeErr *ObjectTypeError
		if err := owner.Adopt(object); !errors.As(err, &typeErr) {
			t.Errorf("%T: %v", object, err)
		}
	}
	if err := owner.Adopt(nil); err != nil {
		t.Errorf("nothing to adopt: %v", err)
	}
	if err := OwnerOf(Map{"metadata": Map{}}).HarmonizeNaming(Map{}); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("an owner without a name: %v", err)
	}
	if err := (Owner{}).Label(Map{}); !errors.Is(err, ErrNoOwner) {
		t.Errorf("no owner: %v", err)
	}
	if err := owner.Label(Map{}, Adoption{Labels: Map{}}); err != nil {
		t.Errorf("no labels: %v", err)
	}
}
