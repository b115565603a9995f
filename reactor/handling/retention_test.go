package handling

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/posting"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// spans keeps the spans of a trace.
type spans struct{ ended []*tracing.Record }

func (s *spans) Record(r *tracing.Record) { s.ended = append(s.ended, r) }

// TestNothingKeepsBodies: strings of a body share its text. What outlives the handling of an event must not keep them, because
// the account counts no body for it: a daemon, an event that waits, a span.
func TestNothingKeepsBodies(t *testing.T) {
	const count, size = 64, 1 << 20
	log := zerolog.Nop()
	for name, keep := range map[string]func(objects []*Object) any{
		"daemons": func(objects []*Object) any {
			var kept []*Object
			for _, o := range objects {
				kept = append(kept, o.Alone())
			}
			return kept
		},
		"events that wait": func(objects []*Object) any {
			poster := &posting.Poster{Warn: func(string) {}, Send: func(ctx context.Context, _ apipath.Path, _ []byte, _ backoffs.Backoffs) error {
				<-ctx.Done()
				return ctx.Err()
			}}
			poster.Start(t.Context(), 0, 0)
			for _, o := range objects {
				if err := poster.Post(posting.Event{Ref: o.Log.Ref, Reason: "R", Message: dicts.LookupString(o.Body, "spec", "text")}); err != nil {
					t.Error(err)
				}
			}
			return poster
		},
		"spans": func(objects []*Object) any {
			kept := &spans{}
			for _, o := range objects {
				span := tracing.Begin(t.Context(), kept, tracing.Internal, "s")
				o.describe(span)
				span.End()
			}
			return kept
		},
	} {
		before := boundedtest.InUse()
		objects := make([]*Object, count)
		for i := range objects {
			text := fmt.Appendf(nil, `{"metadata":{"name":"n%d","namespace":"ns","uid":"u%d"},"spec":{"text":%q}}`, i, i, strings.Repeat("x", size))
			body, err := dicts.DecodeBody(text, func(string, string) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			objects[i] = &Object{Resource: &selectors.Resource{}, Raw: text, Body: body, Log: loggers.ForObject(&log, "", body)}
		}
		kept := keep(objects)
		clear(objects)
		if grown := boundedtest.InUse() - before; grown > count*size/8 {
			t.Errorf("%s keep %d MiB of %d bodies of %d MiB", name, grown>>20, count, size>>20)
		}
		runtime.KeepAlive(kept)
	}
}
