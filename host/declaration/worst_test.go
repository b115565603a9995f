package declaration_test

import (
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/sections"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// The worst declarations that were found take memory in proportion to their size.
func TestWorstDeclarations(t *testing.T) {
	repeated := func(head, part, tail string) string {
		return head + strings.TrimSuffix(strings.Repeat(part, 8<<20/len(part)-100), ",") + tail
	}
	for name, text := range map[string]string{
		"empty handlers": repeated(`{"version":1,"registration":{"handlers":[`, `{},`, `]}}`),
		"null handlers":  repeated(`{"version":1,"registration":{"handlers":[`, `null,`, `]}}`),
		"imports":        repeated(`{"version":1,"imports":[`, `"",`, `],"registration":{}}`),
		"annotations":    repeated(`{"version":1,"annotations":{`, `"":"",`, `},"registration":{}}`),
		"unknown values": repeated(`{"version":1,"registration":{"x":[`, `[],`, `]}}`),
		"nesting":        repeated(`{"version":1,"registration":`, `[`, ``),
		"a large one":    repeated(`{"version":1,"registration":{"sdk":"`, `xxxxxxxx`, `"}}`) + strings.Repeat(" ", 8<<20),
	} {
		wasm := sections.Append(module(), declaration.Section, []byte(text))
		boundedtest.Parse(t, name, wasm, func(wasm []byte) error {
			d, err := declaration.Read(wasm)
			if err == nil && d != nil {
				err = d.Check(d.Imports, d.Registration)
			}
			return err
		})
	}
}
