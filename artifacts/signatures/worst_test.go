package signatures

import (
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// The worst bundles, statements and payloads that were found take memory in proportion to their size.
func TestWorstSignatures(t *testing.T) {
	repeated := func(head, part, tail string) []byte {
		return []byte(head + strings.TrimSuffix(strings.Repeat(part, maxPayload/len(part)-100), ",") + tail)
	}
	const bundled = `{"mediaType":"` + mediaBundle + `","verificationMaterial":{"publicKey":{}},"dsseEnvelope":{"payloadType":"` + statementMedia + `",`
	for name, content := range map[string][]byte{
		"signatures of a bundle": repeated(bundled+`"signatures":[`, `{},`, `]}}`),
		"a large payload":        repeated(bundled+`"payload":"`, `AAAA`, `"}}`),
		"unknown members":        repeated(`{`, `"":[],`, `,"x":1}`),
		"nesting":                repeated(``, `[`, ``),
	} {
		boundedtest.Parse(t, name, content, func(content []byte) error { _, _, err := readBundle(content); return err })
	}
	for name, content := range map[string][]byte{
		"subjects":    repeated(`{"_type":"`+statementType+`","predicateType":"`+predicateSign+`","subject":[`, `{},`, `]}`),
		"digests":     repeated(`{"subject":[{"digest":{`, `"":"",`, `}}]}`),
		"annotations": repeated(`{"subject":[{"annotations":{`, `"":[],`, `}}]}`),
		"a predicate": repeated(`{"predicate":[`, `[],`, `]}`),
	} {
		boundedtest.Parse(t, name, content, func(content []byte) error { _, err := readStatement(content, "sha256:"); return err })
	}
	for name, content := range map[string][]byte{
		"annotations": repeated(`{"optional":{`, `"":[],`, `}}`),
		"lists":       repeated(`{"optional":{"":[`, `[],`, `]}}`),
	} {
		boundedtest.Parse(t, name, content, func(content []byte) error { _, err := readPayload(content, "sha256:"); return err })
	}
}
