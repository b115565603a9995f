package bench

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

var idleProfile = flag.String("idle", "", "the file for the heap profile of BenchmarkIdleOperator")

// first is the number of operators that run before the measurement, so that it has nothing
// of what operators share.
const first = 5

// BenchmarkIdleOperator is what one more operator that has nothing to do takes in a process: each has a module and
// a resource of its own, and watches are shared. The API server is in memory of the process, and
// connections are not measured. Use -benchtime 100x for a hundred operators; -args -idle FILE
// writes the profile of their heap.
func BenchmarkIdleOperator(b *testing.B) {
	for _, language := range []string{"rust", "go"} {
		b.Run(language, func(b *testing.B) { measureIdle(b, language) })
	}
}

func measureIdle(b *testing.B, language string) {
	h := newIdleHost(b, language, first+b.N)
	for i := range first {
		h.start(i)
	}
	before := h.taken()
	for i := range b.N {
		h.start(first + i)
	}
	after := h.taken()
	if *idleProfile != "" {
		h.profile(*idleProfile)
	}
	for name, value := range after {
		b.ReportMetric((value-before[name])/float64(b.N), name+"/op")
	}
}

// idleHost is a process with operators.
type idleHost struct {
	*testing.B
	module  []byte
	server  *apiserver.Server
	watches *operator.Watches
	cache   string
	running sync.WaitGroup
}

func plural(i int) string { return fmt.Sprintf("kopfexa%05d", i) }

// newIdleHost makes a host, and a server with a resource for each operator.
func newIdleHost(b *testing.B, language string, operators int) *idleHost {
	b.Helper()
	module, err := os.ReadFile(filepath.Join(guests, "bench-"+language+".wasm"))
	if errors.Is(err, os.ErrNotExist) {
		b.Skip("SKIPPED: `make guests` builds the guests of this benchmark")
	}
	if err != nil {
		b.Fatal(err)
	}
	var resources []selectors.Resource
	for i := range operators {
		r := apiserver.Guessed(dicts.Object{"apiVersion": "kopf.dev/v1", "kind": "K" + plural(i)[1:]})
		r.Plural = plural(i)
		resources = append(resources, r)
	}
	h := &idleHost{B: b, module: module, server: apiserver.New(resources), cache: b.TempDir()}
	for i := range operators {
		definition := dicts.Object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": dicts.Object{"name": plural(i) + ".kopf.dev"}}
		if err := h.server.Apply(b.Context(), definition); err != nil {
			b.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background()) // that of the benchmark ends before its clean-up
	if h.watches, err = operator.ShareWatches(ctx, operator.WatchesOptions{Login: h.login, Log: zerolog.Nop()}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stop()
		h.server.Disconnect()
		h.running.Wait()
	})
	return h
}

func (h *idleHost) login(context.Context) (*credentials.Info, error) {
	return &credentials.Info{Config: &rest.Config{Host: "http://cluster.test", Transport: http.RoundTripper(h.server), QPS: -1}, DefaultNamespace: "default"}, nil
}

// start starts an operator, and waits until its streams have listed their objects.
func (h *idleHost) start(i int) {
	h.Helper()
	o := operator.Options{
		Modules: []string{fmt.Sprint(i)}, Name: fmt.Sprint(i), Namespaces: []string{"default"}, NoLogins: true,
		Open: func(context.Context, string) (string, []byte, error) {
			return "module.wasm", bytes.ReplaceAll(h.module, []byte("kopfexamples"), []byte(plural(i))), nil
		},
		Login: h.login, Host: host.Options{CacheDir: h.cache}, Log: zerolog.Nop(), Watches: h.watches,
	}
	o.Peering.Standalone = new(true)
	ctx, stop := context.WithCancel(context.Background()) // that of the benchmark ends before its clean-up
	op, err := operator.New(ctx, o)
	if err != nil {
		h.Fatal(err)
	}
	h.running.Go(func() { // Waited for by the clean-up.
		if err := op.Run(ctx); err != nil {
			h.Error(err)
		}
	})
	h.Cleanup(stop) // before that of the host
	<-op.Ready()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		problems, _ := op.Problems()
		if len(op.Facts().Resources) > 0 && len(problems) == 0 {
			return
		}
		if time.Now().After(deadline) {
			h.Fatalf("operator %d does not serve: %q", i, problems)
		}
	}
}

func (h *idleHost) profile(path string) {
	h.Helper()
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
	}
	if err != nil {
		h.Fatal(err)
	}
}

// collections is how often garbage is collected before a measurement: each halves the stacks
// of goroutines that need less than a quarter of them.
const collections = 5

// taken is the memory of the process, by what takes it.
func (h *idleHost) taken() map[string]float64 {
	for range collections {
		debug.FreeOSMemory()
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	taken := map[string]float64{
		"heap-B": float64(memory.HeapAlloc), "stack-B": float64(memory.StackInuse), "goroutines": float64(runtime.NumGoroutine()), "objects": float64(memory.HeapObjects),
		"system-B": float64(memory.HeapInuse - memory.HeapAlloc), "runtime-B": float64(memory.MSpanInuse + memory.MCacheInuse + memory.GCSys + memory.OtherSys + memory.BuckHashSys),
	}
	text, _ := os.ReadFile("/proc/self/smaps_rollup") // other systems have none
	for line := range strings.Lines(string(text)) {
		for name, key := range map[string]string{"PSS-B": "Pss:", "dirty-B": "Private_Dirty:"} {
			var kilobytes float64
			if rest, ok := strings.CutPrefix(line, key); ok {
				_, _ = fmt.Sscan(rest, &kilobytes) // the kernel writes a number
				taken[name] = 1024 * kilobytes
			}
		}
	}
	return taken
}
