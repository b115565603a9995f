package kopf_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

// parent is an object that others refer to.
var parent = kopf.Map{
	"apiVersion": "g/v1", "kind": "K",
	"metadata": kopf.Map{"name": "own", "namespace": "ns", "uid": "u"},
}

func TestObjectReferences(t *testing.T) {
	full := kopf.Map{"apiVersion": "g/v1", "kind": "K", "name": "own", "namespace": "ns", "uid": "u"}
	c := kopftest.New(t).Change(kopftest.Fixture{Body: parent})
	tests := []struct {
		name string
		body any
		want kopf.Map
	}{
		{"of a map", parent, full},
		{"of the handled object", c.Body, full},
		{"of a struct", struct {
			Kind string `json:"kind"`
		}{"K"}, kopf.Map{"kind": "K"}},
		{"of the cluster", kopf.Map{"kind": "Node", "metadata": kopf.Map{"name": "n", "namespace": nil, "uid": ""}}, kopf.Map{"kind": "Node", "name": "n"}},
		{"of an empty object", kopf.Map{}, kopf.Map{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := kopf.BuildObjectReference(test.body)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestOwnerReferences(t *testing.T) {
	tests := []struct {
		name string
		how  []kopf.Adoption
		want kopf.Map // in addition to what all references have
	}{
		{"by default", nil, kopf.Map{"controller": true, "blockOwnerDeletion": true}},
		{"of no controller", []kopf.Adoption{{Controller: kopf.FlagFalse}}, kopf.Map{"controller": false, "blockOwnerDeletion": true}},
		{"that does not block", []kopf.Adoption{{BlockOwnerDeletion: kopf.FlagFalse}}, kopf.Map{"controller": true, "blockOwnerDeletion": false}},
		{"without flags", []kopf.Adoption{{Controller: kopf.FlagOmitted, BlockOwnerDeletion: kopf.FlagOmitted}}, kopf.Map{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for key, value := range map[string]any{"apiVersion": "g/v1", "kind": "K", "name": "own", "uid": "u"} {
				test.want[key] = value
			}
			got, err := kopf.BuildOwnerReference(parent, test.how...)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestReferencesToNothing(t *testing.T) {
	for _, body := range []any{kopf.View{}, func() {}} {
		if ref, err := kopf.BuildObjectReference(body); !errors.Is(err, kopf.ErrNoOwner) {
			t.Errorf("an object reference %v, error %v", ref, err)
		}
		if ref, err := kopf.BuildOwnerReference(body); !errors.Is(err, kopf.ErrNoOwner) {
			t.Errorf("an owner reference %v, error %v", ref, err)
		}
	}
}
