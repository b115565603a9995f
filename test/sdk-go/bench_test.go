package sdkgo_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
)

// BenchmarkCreate is one call of a handler that reads a field, logs, patches and
// returns a result, for an object of 1 KB: from the invocation to the outcome.
func BenchmarkCreate(b *testing.B) {
	wasm, err := guest()
	if err != nil {
		b.Fatal(err)
	}
	module, err := host.Load(context.Background(), "guest.wasm", wasm, host.Options{RetireCalls: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := module.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	body := []byte(`{"apiVersion": "kopf.dev/v1", "kind": "Thing", "metadata": {"name": "obj1", "annotations": {"x": "` +
		strings.Repeat("y", 900) + `"}}, "spec": {"size": 5}}`)
	inv := &abi.Invocation{
		Handler: 0, Kind: abi.KindCreate, ID: "createFn", Name: "obj1", Namespace: "ns1", UID: "u", Reason: "create",
		Started:  "2020-01-01T00:00:00.000000+00:00",
		Resource: &abi.ResourceInfo{Group: "kopf.dev", Version: "v1", Plural: "things", Kind: "Thing", Namespaced: true, Preferred: true},
	}
	b.ReportAllocs()
	for b.Loop() {
		task, step, err := module.Start(context.Background(), inv, body, &env{})
		if err != nil || step.Error != nil {
			b.Fatal(err, step)
		}
		task.Release(context.Background())
	}
}
