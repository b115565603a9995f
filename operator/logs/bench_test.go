package logs_test

import (
	"io"
	"testing"

	"github.com/kopf-wasm/kopf/operator/logs"
)

// BenchmarkLine is one line about an object: three are logged for each one that is created.
func BenchmarkLine(b *testing.B) {
	for _, format := range []logs.Format{logs.Plain, logs.Full, logs.JSON} {
		b.Run(string(format), func(b *testing.B) {
			log := logs.New(io.Discard, logs.Options{Format: format}).With().Str("logger", "kopf.objects").Logger()
			b.ReportAllocs()
			for b.Loop() {
				log.Info().Object("object", ref{"default", "example"}).Msg("Handler 'create_fn' succeeded.")
			}
		})
	}
}
