package sdkgo_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
)

func BenchmarkVariants(b *testing.B) {
	wasm, err := guest()
	if err != nil {
		b.Fatal(err)
	}
	module, err := host.Load(context.Background(), "guest.wasm", wasm, host.Options{RetireCalls: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer module.Close(context.Background())
	full := &abi.Invocation{
		Kind: abi.KindCreate, ID: "createFn", Name: "obj1", Namespace: "ns1", UID: "u", Reason: "create",
		Started:  "2020-01-01T00:00:00.000000+00:00",
		Resource: &abi.ResourceInfo{Group: "kopf.dev", Version: "v1", Plural: "things", Kind: "Thing", Namespaced: true, Preferred: true},
	}
	for _, v := range []struct {
		name    string
		handler int
		inv     *abi.Invocation
	}{{"unknown", 99, &abi.Invocation{}}, {"noop", 7, &abi.Invocation{}}, {"noopfull", 7, full}, {"create", 0, full}} {
		b.Run(v.name, func(b *testing.B) {
			v.inv.Handler = v.handler
			before := cpu()
			for b.Loop() {
				task, _, err := module.Start(context.Background(), v.inv, []byte(`{"spec":{"size":5}}`), &env{})
				if err != nil {
					b.Fatal(err)
				}
				task.Release(context.Background())
			}
			b.ReportMetric((cpu()-before)/float64(b.N), "cpu-us/op")
		})
	}
}

func cpu() float64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1000
}
