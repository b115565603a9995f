package signatures

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
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

// The worst configurations have as many equal keys as possible, for which the decoder of YAML takes quadratic
// time.
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

// worstPEM are the most expensive files of keys: beginnings without the right end, for which the decoder of PEM searches the rest of the
// file each time, and many or large blocks.
func worstPEM(size int) map[string][]byte {
	block := func(kind string, content []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
	}
	fill := func(part, tail string) []byte { return []byte(strings.Repeat(part, (size-len(tail))/len(part)) + tail) }
	return map[string][]byte{
		"beginnings":              fill("-----BEGIN PUBLIC KEY-----\n", ""),
		"beginnings of nothing":   fill("-----BEGIN -----\n", ""),
		"beginnings with an end":  fill("-----BEGIN A-----\n", "-----END B-----\n"),
		"beginnings with headers": fill("-----BEGIN A-----\na:b\n", "\n-----END B-----\n"),
		"headers":                 []byte("-----BEGIN A-----\n" + string(fill("a:b\n", "\n-----END A-----\n"))),
		"empty blocks":            fill(block("", nil), ""),
		"wrong blocks":            fill("-----BEGIN A-----\n=\n-----END A-----\n", ""),
		"ends":                    fill("-----END A-----\n", ""),
		"dashes":                  fill("-", ""),
		"a large key":             []byte(block("PUBLIC KEY", make([]byte, size/2))),
		"a large private key":     []byte(block("PRIVATE KEY", make([]byte, size/2))),
		"an encrypted key":        []byte(block("ENCRYPTED SIGSTORE PRIVATE KEY", fill(`{"kdf":[`, `]}`))),
		"many values":             []byte(block("ENCRYPTED SIGSTORE PRIVATE KEY", []byte(`{"x":[`+strings.Repeat(`{},`, size/5)+`{}]}`))),
		"nesting in a structure":  []byte(block("PUBLIC KEY", nestedDER(size/2))),
		"the deepest structure":   []byte(block("PUBLIC KEY", nestedDER(maxKey))),
		"a large modulus":         []byte(block("PUBLIC KEY", publicRSA(maxKey-100))),
		"a huge modulus":          []byte(block("PUBLIC KEY", publicRSA(size/2))),
		"large primes":            []byte(block("PRIVATE KEY", privateRSA(maxKey/6))),
		"huge primes":             []byte(block("PRIVATE KEY", privateRSA(size/10))),
	}
}

// odd is a number of this many bytes.
func odd(size int) *big.Int { return new(big.Int).SetBytes(bytes.Repeat([]byte{0x7b}, size)) }

// publicRSA is a public key with a modulus of this many bytes.
func publicRSA(size int) []byte {
	der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: odd(size), E: 65537})
	if err != nil {
		panic(err)
	}
	return der
}

// privateRSA is a private key with two factors of this many bytes, which are not prime.
func privateRSA(size int) []byte {
	prime := odd(size)
	n := new(big.Int).Mul(prime, prime)
	key, err := asn1.Marshal(struct {
		Version               int
		N                     *big.Int
		E                     int
		D, P, Q, Dp, Dq, Qinv *big.Int
	}{0, n, 65537, prime, prime, prime, big.NewInt(1), big.NewInt(1), big.NewInt(1)})
	if err != nil {
		panic(err)
	}
	out, err := asn1.Marshal(struct {
		Version   int
		Algorithm pkix.AlgorithmIdentifier
		Key       []byte
	}{0, pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}, Parameters: asn1.NullRawValue}, key})
	if err != nil {
		panic(err)
	}
	return out
}

// nestedDER is a structure of ASN.1 that is nested as deeply as possible.
func nestedDER(size int) []byte {
	out := bytes.Repeat([]byte{0x30, 0x83, 0, 0, 0}, size/5)
	for i := 0; i < len(out); i += 5 {
		rest := len(out) - i - 5
		out[i+2], out[i+3], out[i+4] = byte(rest>>16), byte(rest>>8), byte(rest)
	}
	return out
}

// The worst keys that were found take memory in proportion to their size.
func TestWorstKeys(t *testing.T) {
	for name, text := range worstPEM(4 << 20) {
		boundedtest.Parse(t, name, text, func(text []byte) error {
			if key, err := ParsePublicKey(text); err == nil {
				t.Errorf("%s: a public key: %s", name, key.fingerprint)
			}
			_, err := ParsePrivateKey(text, func() ([]byte, error) { return []byte("secret"), nil })
			if err == nil {
				t.Errorf("%s: a private key", name)
			}
			return err
		})
	}
}
