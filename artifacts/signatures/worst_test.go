package signatures

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded"
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

// TestWorstConfigs: the worst files of demands have as many equal keys as possible, which are quadratic in
// the decoder of YAML.
func TestWorstConfigs(t *testing.T) {
	repeated := func(head, part, tail string) []byte {
		return []byte(head + strings.Repeat(part, (maxConfig-len(head)-len(tail))/len(part)) + tail)
	}
	const key = "apiVersion: v1\nallOf:\n- kind: pubKey\n"
	for name, content := range map[string][]byte{
		"equal keys":             repeated("", "a:\n", ""),
		"2,000 equal keys":       []byte(strings.Repeat("a:\n", 2000)),
		"equal annotations":      repeated(key+"  annotations: {", "a,", "}"),
		"2,000 such annotations": []byte(key + "  annotations: {" + strings.Repeat("a,", 2000) + "}"),
		"entries":                repeated("apiVersion: v1\nallOf: [", "a,", "]"),
		"nesting":                repeated("allOf: ", "[", ""),
		"nested keys":            repeated("", "? ", ""),
	} {
		boundedtest.Parse(t, name, content, func(content []byte) error {
			_, err := ParseConfig(content)
			if !errors.Is(err, bounded.ErrTooMuch) && !strings.Contains(err.Error(), "exceeded max depth") && !strings.Contains(err.Error(), "already set") {
				t.Errorf("%s: error %.200v", name, err)
			}
			return err
		})
	}
}
