//go:build !tinygo

package kopf

import (
	"errors"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

func generic[T any](*Change) (any, error) { return nil, nil }

type methods struct{}

func (methods) handle(*Change) (any, error) { return nil, nil }

func (*methods) pointer(*Change) (any, error) { return nil, nil }

const here = "github.com/kopf-wasm/kopf/guest-sdks/go/kopf."

func TestIDsAndIdentities(t *testing.T) {
	closure := func(*Change) (any, error) { return nil, nil }
	tests := []struct {
		name    string
		fn      ChangeFunc
		opts    []CreateOption
		id, fun string
		fails   error
	}{
		{"named", named, nil, "named", here + "named", nil},
		{"named with an id", named, []CreateOption{ID("x")}, "x", here + "named", nil},
		{"closure", closure, nil, "", "", errNoName},
		{"closure with an id", closure, []CreateOption{ID("x")}, "x", "", nil},
		{"closure with an identity", closure, []CreateOption{ID("x"), Identity("y")}, "x", "y", nil},
		{"method", methods{}.handle, nil, "", "", errNoName},
		{"pointer method", (&methods{}).pointer, []CreateOption{ID("x")}, "x", "", nil},
		{"generic", generic[int], nil, "", "", errNoName},
		{"nil", nil, []CreateOption{ID("x")}, "x", "", errNoFunc},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := built(tt.opts).build(abi.KindCreate, nil, functionOf(tt.fn, tt.fn == nil), runChange(tt.fn))
			if !errors.Is(err, tt.fails) {
				t.Fatalf("error %v, want %v", err, tt.fails)
			}
			if h.Declaration.ID != tt.id || h.Declaration.Fn != tt.fun {
				t.Errorf("id %q, identity %q", h.Declaration.ID, h.Declaration.Fn)
			}
		})
	}
}

func TestSubHandlerWithoutAnID(t *testing.T) {
	sub := Sub("", named)
	if sub.err != nil || sub.handler.Declaration.ID != "named" {
		t.Errorf("id %q, error %v; want the name of the function", sub.handler.Declaration.ID, sub.err)
	}
}
