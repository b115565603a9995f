package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// TestWorstMessages: what a guest says takes memory in proportion to its length, whatever it is. Empty answers and
// empty children cost most.
func TestWorstMessages(t *testing.T) {
	repeated := func(head, part, tail string) []byte {
		return []byte(head + strings.TrimSuffix(strings.Repeat(part, (8<<20-len(head)-len(tail))/len(part)), ",") + tail)
	}
	var settings strings.Builder
	settings.WriteString(`{"step":"done","settings":{"a":1`)
	for i := range 500_000 {
		fmt.Fprintf(&settings, `,"%x":1`, i)
	}
	settings.WriteString("}}")
	decoders := map[string]func([]byte) error{
		"step":      func(text []byte) error { _, err := decodeStep(text); return err },
		"transform": func(text []byte) error { _, err := decodeTransform(text); return err },
		"answers":   func(text []byte) error { _, err := decodeAnswers(text, 1); return err },
	}
	for name, text := range map[string][]byte{
		"children":        repeated(`{"step":"execute","children":[`, `{},`, `]}`),
		"null children":   repeated(`{"step":"execute","children":[`, `null,`, `]}`),
		"a child of many": repeated(`{"step":"execute","children":[{"kind":"sub","id":"a",`, `"a":1,`, `}]}`),
		"a result":        repeated(`{"step":"done","result":[`, `{},`, `]}`),
		"a patch":         repeated(`{"step":"done","patch":{`, `"":{},`, `}}`),
		"results":         repeated(`{`, `"result":1,`, `,"step":"done"}`),
		"labels":          repeated(`{"step":"done","labels":{`, `"":"",`, `}}`),
		"settings":        repeated(`{"step":"done","settings":{`, `"":1,`, `}}`),
		"other settings":  []byte(settings.String()),
		"warnings":        repeated(`{"step":"done","warnings":[`, `"",`, `]}`),
		"keyed":           repeated(`{"step":"done","keyed":[`, `[],`, `]}`),
		"headers":         repeated(`{"step":"call","call":{"headers":{`, `"":[],`, `}}}`),
		"values of one":   repeated(`{"step":"call","call":{"headers":{"a":[`, `"",`, `]}}}`),
		"query":           repeated(`{"step":"call","call":{"query":{`, `"":[],`, `}}}`),
		"answers":         repeated(`{"answers":[`, `{},`, `]}`),
		"null answers":    repeated(`{"answers":[`, `null,`, `]}`),
		"nesting":         repeated(`{"step":"done","result":`, `[`, ``),
		"unknown members": repeated(`{"step":"done"`, `,"":[]`, `}`),
		"a text":          repeated(`{"step":"done","error":{"kind":"permanent","message":"`, `\u0000`, `"}}`),
		"a body":          repeated(`{"body":{`, `"":[],`, `}}`),
	} {
		for what, decode := range decoders {
			boundedtest.Parse(t, what+": "+name, text, decode)
		}
	}
}
