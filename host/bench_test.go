package host

import (
	"testing"
)

// BenchmarkCall measures one invocation from start to release.
func BenchmarkCall(b *testing.B) {
	body := []byte(`{"metadata":{"name":"obj1","namespace":"ns1","labels":{"a":"b"}},"spec":{"field":"value","number":7,"list":[1,2,3]}}`)
	m := loadGo(b, Options{})
	for _, what := range []string{"count", "body", "garbage"} {
		b.Run(what, func(b *testing.B) {
			for b.Loop() {
				task, _, err := m.Start(b.Context(), invoke(what), body, &testEnv{})
				if err != nil {
					b.Fatal(err)
				}
				task.Release(b.Context())
			}
		})
	}
}
