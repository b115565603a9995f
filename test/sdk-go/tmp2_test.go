package sdkgo_test

import (
	"context"
	"os"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
)

func BenchmarkParts(b *testing.B) {
	wasm, _ := os.ReadFile("/tmp/bg.wasm")
	module, err := host.Load(context.Background(), "guest.wasm", wasm, host.Options{RetireCalls: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer module.Close(context.Background())
	for i, h := range module.Registration().Handlers {
		b.Run(h.ID, func(b *testing.B) {
			before := cpu()
			for b.Loop() {
				task, _, err := module.Start(context.Background(), &abi.Invocation{Handler: i}, []byte(`{"spec":{"size":5}}`), &env{})
				if err != nil {
					b.Fatal(err)
				}
				task.Release(context.Background())
			}
			b.ReportMetric((cpu()-before)/float64(b.N), "cpu-us/op")
		})
	}
}
