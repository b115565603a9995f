package kopf

import (
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// benchHeader is the header of an invocation, as hosts send it.
const benchHeader = `{"handler":0,"kind":"create","id":"createFn","retry":0,"started":"2020-01-01T00:00:00.000000+00:00","runtime":0.001,` +
	`"resource":{"group":"kopf.dev","version":"v1","plural":"things","kind":"Thing","singular":"thing","namespaced":true,"preferred":true},` +
	`"name":"obj1","namespace":"ns1","uid":"u","reason":"create"}`

// BenchmarkStart is the work of the SDK for one call, without a border.
func BenchmarkStart(b *testing.B) {
	handlers := map[string]ChangeFunc{
		"nothing": func(*Change) (any, error) { return nil, nil },
		"example": func(c *Change) (any, error) {
			c.Log.Info("a new object", "field", c.Spec.Get("field"))
			c.Patch.Status.Set("seen", true)
			return Map{"message": "hello"}, nil
		},
	}
	frame := abi.AppendFrame(nil, abi.Segment{Tag: abi.TagHeader, Data: []byte(benchHeader)},
		abi.Segment{Tag: abi.TagBody, Data: []byte(`{"apiVersion":"kopf.dev/v1","kind":"Thing","metadata":{"name":"obj1"},"spec":{"field":"value"}}`)})
	for name, fn := range handlers {
		b.Run(name, func(b *testing.B) {
			m := &guest.Module{Host: guest.Noone{}}
			m.Add(built([]CreateOption{ID("fn")}).build(abi.KindCreate, nil, functionOf(fn, fn == nil), runChange(fn)))
			b.ReportAllocs()
			for range b.N {
				m.Start(1, frame)
			}
		})
	}
}
