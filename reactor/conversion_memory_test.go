package reactor

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/heaptest"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/webhooks"
)

// convertible is the beginning of an object in any version of the tests.
const convertible = `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"x"},"spec":`

// slowly is a guest that converts to v2, and then to v3. Its second step takes time, in which other conversions begin.
type slowly struct {
	*reactortest.Counting
	convert func(body []byte) []byte // the first step
}

func (g *slowly) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	task, step, err := g.Counting.Start(ctx, inv, body, e)
	if inv.Conversion.To == "v2" {
		step.Result = g.convert(body)
		return task, step, err
	}
	if g.Begun.Load() < 64 { // a request with many objects has to end
		time.Sleep(100 * time.Millisecond)
	}
	step.Result = body
	return task, step, err
}

// peak runs a function, and returns by how much the live heap was larger meanwhile, at most.
func peak(do func()) int {
	before, most, ended := heaptest.InUse(), 0, make(chan struct{})
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var sampling sync.WaitGroup
	sampling.Go(func() { // Waited for below.
		for {
			select {
			case <-ended:
				return
			default:
				runtime.GC()
				metrics.Read(live)
				most = max(most, int(live[0].Value.Uint64())) //nolint:gosec // a size
			}
		}
	})
	do()
	close(ended)
	sampling.Wait()
	return most - before
}

// TestConversionsHaveBoundedMemory: whatever objects come at once, and whatever handlers make of them. The bounds are those of the
// objects, of the results, and of the texts of requests and answers.
func TestConversionsHaveBoundedMemory(t *testing.T) {
	const review, patch, texts, count = 64 << 20, 64 << 20, 32 << 20, 16
	items := func(item string, size int) string { return "[" + strings.Repeat(item+",", size/len(item)) + item + "]" }
	same := func(body []byte) []byte { return body }
	becomes := func(spec string) func([]byte) []byte {
		return func([]byte) []byte { return []byte(convertible + spec + "}") }
	}
	handler := func(from, to string) string {
		return fmt.Sprintf(`{"kind":"convert","id":"to-%s","resource":{"group":"kopf.dev","plural":"kopfexamples"},"from":"%s","to":"%[1]s"}`, to, from)
	}
	object := func(spec string) string { return convertible + spec + "}" }
	many := func(object string, size int) string {
		return strings.Repeat(object+",", size/len(object)) + object
	}
	for name, tt := range map[string]struct {
		objects string
		convert func(body []byte) []byte
	}{
		"objects of empty members":              {object(items(`{"":0}`, 200<<10)), same},
		"many objects of empty members":         {many(object(items(`{"":0}`, 50<<10)), 2<<20), same},
		"many small objects":                    {many(object("0"), 200<<10), same},
		"nested objects":                        {many(object(strings.Repeat(`{"a":`, 400)+"0"+strings.Repeat("}", 400)), 2<<20), same},
		"texts with escapes":                    {many(object(`"`+strings.Repeat("<", 100<<10)+`"`), 2<<20), same},
		"texts that are not ASCII":              {many(object(`"`+strings.Repeat("é", 500<<10)+`"`), 2<<20), same},
		"large results":                         {object("0"), becomes(items(`{"":0}`, 300<<10))},
		"results that are texts":                {object("0"), becomes(`"` + strings.Repeat("<", 7<<20) + `"`)},
		"results that are not ASCII":            {object("0"), becomes(`"` + strings.Repeat("é", 3<<20) + `"`)},
		"many results":                          {many(object("0"), 50<<10), becomes(`"` + strings.Repeat("<", 10<<10) + `"`)},
		"many results of empty members":         {many(object("0"), 50<<10), becomes(items(`{"":0}`, 10<<10))},
		"numbers that are longer in the answer": {many(object(items("1e15", 100<<10)), 2<<20), same},
	} {
		t.Run(name, func(t *testing.T) {
			op := reviewing(t, &slowly{counting(t, abi.Outcome{}, handler("v1", "v2"), handler("v2", "v3")), tt.convert}, accounts.Limits{ReviewMemory: review, PatchMemory: patch})
			hooks := webhooks.NewHandler(op.admission, webhooks.Limits{Conversion: 4 << 20, Memory: texts}, zerolog.Nop())
			ask := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"kopf.dev/v3","objects":[` + tt.objects + `]}}`
			converted, refused := 0, 0
			var mu sync.Mutex // guards both
			grown := peak(func() {
				var all sync.WaitGroup
				for range count {
					all.Go(func() { // Waited for below.
						answer := &discarding{head: new(bytes.Buffer)}
						hooks.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/-/convert", strings.NewReader(ask)))
						mu.Lock()
						defer mu.Unlock()
						if strings.Contains(answer.head.String(), `Success`) {
							converted++
						} else {
							refused++
						}
					})
				}
				all.Wait()
				hooks.Wait()
			})
			t.Logf("%d MiB, %d are converted and %d refused", grown>>20, converted, refused)
			// What is made while the collector marks counts as live, so an eighth more is no error.
			if bound := review + patch + 2*texts; grown > bound+bound/8 {
				t.Errorf("%d conversions take %d MiB; the limits are %d together", count, grown>>20, bound>>20)
			}
			for _, kind := range []accounts.Kind{accounts.Reviews, accounts.Patches} {
				if n := reactortest.Held(op.account, kind); n != 0 {
					t.Errorf("%d bytes of %s are held afterwards", n, kind)
				}
			}
		})
	}
}

// discarding is a client that reads and forgets.
type discarding struct {
	head *bytes.Buffer
	code int
}

func (d *discarding) Header() http.Header  { return http.Header{} }
func (d *discarding) WriteHeader(code int) { d.code = code }

func (d *discarding) Write(text []byte) (int, error) {
	d.head.Write(text[:min(len(text), 200)])
	d.head.Write(text[max(0, len(text)-200):])
	return len(text), nil
}

// TestWorkOfConversionsCounts: what the host decodes and encodes for large objects and results is a part of the computing time.
func TestWorkOfConversionsCounts(t *testing.T) {
	object := func(size int) []byte { return []byte(convertible + `"` + strings.Repeat("x", size) + `"}`) }
	for _, tt := range []struct{ object, result, want int }{
		{10, 10, 0},
		{8 << 10, 10, 2}, // decoded and encoded
		{10, 8 << 10, 2}, // the result is decoded, and encoded as the answer
		{8 << 10, 8 << 10, 4},
	} {
		guest := counting(t, abi.Outcome{Result: object(tt.result)}, `{"kind":"convert","id":"to-v2","resource":{"group":"kopf.dev","plural":"kopfexamples"},"from":"v1","to":"v2"}`)
		op := reviewing(t, guest, accounts.Limits{})
		works := 0
		op.generations.Present().Services.Compute = func(_ context.Context, do func()) {
			works++
			do()
		}
		if _, err := op.admission.Convert(t.Context(), object(tt.object), "kopf.dev/v2"); err != nil || works != tt.want {
			t.Errorf("%d to %d bytes: %v; %d pieces of work, want %d", tt.object, tt.result, err, works, tt.want)
		}
	}
}
