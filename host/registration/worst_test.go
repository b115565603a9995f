package registration_test

import (
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/registration"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// repeated is a document of 8 MiB, the largest message: a part again and again between two others.
func repeated(head, part, tail string) []byte {
	return []byte(head + strings.TrimSuffix(strings.Repeat(part, (8<<20-len(head)-len(tail))/len(part)), ",") + tail)
}

// The worst registrations that were found take memory in proportion to their size.
func TestWorstRegistrations(t *testing.T) {
	const handler = `{"handlers":[{"kind":"create","id":"a","resource":{"args":["pods"]},`
	for name, document := range map[string][]byte{
		"empty handlers":       repeated(`{"handlers":[`, `{},`, `]}`),
		"null handlers":        repeated(`{"handlers":[`, `null,`, `]}`),
		"handlers of lists":    repeated(`{"handlers":[`, `[],`, `]}`),
		"labels":               repeated(handler+`"labels":{`, `"":"",`, `,"a":"b"}}]}`),
		"a field of many":      repeated(handler+`"field":[`, `"a",`, `,"a"]}]}`),
		"a long path":          []byte(handler + `"field":["` + strings.Repeat(`a","`, 100_000) + `b"]}]}`),
		"arguments":            repeated(`{"handlers":[{"kind":"create","id":"a","resource":{"args":[`, `1,`, `,1]}}]}`),
		"operations":           repeated(`{"handlers":[{"kind":"validate","id":"a","resource":{"args":["pods"]},"operations":[`, `"",`, `,""]}]}`),
		"unknown options":      repeated(handler, `"":1,`, `,"x":1}]}`),
		"a marker with values": repeated(handler+`"field":["a"],"value":{"$":"VALUE","value":[`, `{},`, `,1]}}]}`),
		"rules of requests":    repeated(`{"handlers":[],"capabilities":{"kubernetes":[`, `{},`, `,{}]}}`),
		"hosts":                repeated(`{"handlers":[],"capabilities":{"http":[`, `"",`, `,""]}}`),
		"unknown members":      repeated(`{`, `"a":[],`, `,"handlers":[]}`),
		"nesting":              repeated(`{"handlers":`, `[`, ``),
		"one long string":      repeated(`{"handlers":[],"sdk":"`, `\u0000`, `"}`),
	} {
		boundedtest.Parse(t, name, document, func(input []byte) error {
			_, err := registration.Parse(input)
			return err
		})
	}
}
