package sigstore

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// signatureSize is the size of the largest signatures that are collected, in bytes.
const signatureSize = 1 << 20

// maxSmall is a size of parts below all limits, so the library gets these parts.
const maxSmall = 14 << 10

// The worst signatures that were found take memory in proportion to their size, and little
// time: with parts that are as large as their limits, and with parts that fill the whole.
func TestWorstSignatures(t *testing.T) {
	virtual, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	stamps, err := root.NewTrustedRoot(root.TrustedRootMediaType01, virtual.FulcioCertificateAuthorities(), nil, virtual.TimestampingAuthorities(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for trust, trusted := range map[string]root.TrustedMaterial{"logs": virtual, "timestamps": stamps} {
		verifier, err := newVerifier(trusted)
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range worstSignatures(t) {
			name += ", trusting " + trust
			input := bytes.Join([][]byte{s.Bundle, []byte(s.Certificate), []byte(s.Log), []byte(s.Timestamp)}, nil)
			if len(input) > signatureSize {
				t.Errorf("%s: %d bytes are never collected", name, len(input))
			}
			boundedtest.Parse(t, name, input, func([]byte) error {
				found, err := each(t.Context(), verifier, digest, []signatures.Signature{s})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if found[0].Err == nil {
					t.Errorf("%s: signed by %s", name, found[0].Subject)
				}
				return found[0].Err
			})
		}
	}
}

func worstSignatures(t *testing.T) map[string]signatures.Signature {
	t.Helper()
	large := signatureSize * 2 / 3 // in Base64, this fills a signature
	worst := map[string]signatures.Signature{
		"many entries":       bundled(repeated(`"tlogEntries":[`, `{}`, signatureSize/4)),
		"entries of nothing": bundled(repeated(`"tlogEntries":[`, entry("hashedrekord", rekord(nil)), 1000)),
		"a large checkpoint": bundled(`"tlogEntries":[` + strings.Replace(entry("hashedrekord", rekord(nil)), `"envelope":"x"`, `"envelope":"`+strings.Repeat(`\n\n— a AAAA`, large/20)+`"`, 1) + `]`),
		"many hashes":        bundled(`"tlogEntries":[` + strings.Replace(entry("hashedrekord", rekord(nil)), `"checkpoint"`, repeated(`"hashes":[`, `"AAAA"`, 9000)+`,"checkpoint"`, 1) + `]`),
		"a nested entry":     {Certificate: certificate(nil), Log: strings.Repeat("[", large)},
	}
	for size, n := range map[int]int{maxSmall: 32, large: 1} {
		name := map[int]string{maxSmall: "parts within limits: ", large: "one large part: "}[size]
		worst[name+"a certificate"] = signatures.Signature{Bundle: []byte(strings.Replace(string(bundled("").Bundle), base64Of(leaf), base64Of(hugeCertificate(t, size)), 1))}
		worst[name+"a certificate under a tag"] = signatures.Signature{Certificate: certificate(hugeCertificate(t, size)), Log: logged(rekord(nil))}
		worst[name+"beginnings of PEM under a tag"] = signatures.Signature{Certificate: string(beginnings(size))}
		worst[name+"nested timestamps"] = bundled(stamps(nested(t, size), min(n, 2)))
		worst[name+"nested timestamps under a tag"] = signatures.Signature{Certificate: certificate(nil), Timestamp: `{"SignedRFC3161Timestamp":"` + base64Of(nested(t, size)) + `"}`}
		worst[name+"timestamps with a large key"] = bundled(stamps(hugeTimestamp(t, size*3/8), min(n, 2)))
		worst[name+"many timestamps"] = bundled(stamps(hugeTimestamp(t, size*3/8), n))
		worst[name+"beginnings of PEM in entries"] = bundled(repeated(`"tlogEntries":[`, entry("hashedrekord", rekord(beginnings(size/2))), n))
		worst[name+"large keys in entries"] = bundled(repeated(`"tlogEntries":[`, entry("hashedrekord", rekord([]byte(certificate(hugeCertificate(t, size*4/10))))), n))
		worst[name+"nested entries"] = bundled(repeated(`"tlogEntries":[`, entry("dsse", bytes.Repeat([]byte("["), size)), n))
		worst[name+"an entry under a tag"] = signatures.Signature{Certificate: certificate(nil), Log: logged(rekord(beginnings(size / 2)))}
	}
	return worst
}

func base64Of(content []byte) string { return base64.StdEncoding.EncodeToString(content) }

// repeated is a list of JSON with equal elements.
func repeated(head, part string, n int) string {
	return head + strings.Repeat(part+",", n-1) + part + "]"
}

// leaf stands for a certificate.
var leaf = []byte("the certificate")

// bundled is a bundle with additional material.
func bundled(material string) signatures.Signature {
	if material != "" {
		material = "," + material
	}
	return signatures.Signature{Bundle: []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"certificate":{"rawBytes":"` + base64Of(leaf) + `"}` + material +
		`},"dsseEnvelope":{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"AAAA"}]}}`)}
}

// entry is one of a log.
func entry(kind string, body []byte) string {
	return `{"logIndex":"1","logId":{"keyId":"AAAA"},"kindVersion":{"kind":"` + kind + `","version":"0.0.1"},"integratedTime":"1","inclusionPromise":{"signedEntryTimestamp":"AAAA"},` +
		`"inclusionProof":{"checkpoint":{"envelope":"x"}},"canonicalizedBody":"` + base64Of(body) + `"}`
}

// logged is an entry of a log as cosign stores it.
func logged(body []byte) string {
	return `{"SignedEntryTimestamp":"AAAA","Payload":{"integratedTime":1,"logID":"0a","body":"` + base64Of(body) + `"}}`
}

// rekord is the body of an entry with a key.
func rekord(key []byte) []byte {
	body, err := json.Marshal(map[string]any{"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": map[string]any{
		"data":      map[string]any{"hash": map[string]string{"algorithm": "sha256", "value": strings.Repeat("0a", 32)}},
		"signature": map[string]any{"content": []byte("AAAA"), "publicKey": map[string][]byte{"content": key}},
	}})
	if err != nil {
		panic(err)
	}
	return body
}

// certificate is a certificate in PEM.
func certificate(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// beginnings returns blocks of PEM without an end. The decoder searches the whole rest of the text for each end.
func beginnings(size int) []byte {
	const line = "-----BEGIN -----\n"
	return bytes.Repeat([]byte(line), size/len(line))
}

// nested is a response with a timestamp that has as many levels as possible. The library encodes each of
// them again for each outer level.
func nested(t *testing.T, size int) []byte {
	t.Helper()
	levels := make([]byte, 0, size)
	for size > 5 {
		rest := size - 5
		levels = append(levels, 0x30, 0x83, byte(rest>>16), byte(rest>>8), byte(rest))
		if rest < 1<<16 { // lengths are as short as possible
			levels, rest = append(levels[:len(levels)-5], 0x30, 0x82, byte((size-4)>>8), byte(size-4)), size-4
		}
		if rest < 256 {
			levels = append(levels[:len(levels)-4], bytes.Repeat([]byte{5, 0}, size/2)...)
			break
		}
		size = rest
	}
	response, err := asn1.Marshal(struct {
		Status struct{ Status int }
		Token  asn1.RawValue
	}{Token: asn1.RawValue{FullBytes: levels}})
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// stamps returns timestamps as a part of a bundle.
func stamps(content []byte, n int) string {
	return `"timestampVerificationData":{` + repeated(`"rfc3161Timestamps":[`, `{"signedTimestamp":"`+base64Of(content)+`"}`, n) + `}`
}

// hugeKey is a signer with a modulus of this many bytes. Its signatures are not valid.
type hugeKey int

func (k hugeKey) Public() crypto.PublicKey {
	return &rsa.PublicKey{N: new(big.Int).SetBytes(bytes.Repeat([]byte{0x7b}, int(k))), E: 65537}
}

func (k hugeKey) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return bytes.Repeat([]byte{0x55}, int(k)), nil
}

// hugeCertificate returns a certificate of about this many bytes, most of them for a modulus.
func hugeCertificate(t *testing.T, size int) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "huge"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: []byte{0x30, 0x0a, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08}}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}}, hugeKey(size-500).Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// hugeTimestamp returns a response of an authority whose key has a modulus of this many bytes. The library
// verifies its signature before it checks whether the authority is trusted.
func hugeTimestamp(t *testing.T, size int) []byte {
	t.Helper()
	signer, err := x509.ParseCertificate(hugeCertificate(t, size+500))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte{0, 0, 0}) // the signature in the bundle
	stamp := timestamp.Timestamp{HashAlgorithm: crypto.SHA256, HashedMessage: sum[:], Time: time.Now(), Policy: asn1.ObjectIdentifier{1, 2, 3}, AddTSACertificate: true}
	response, err := stamp.CreateResponseWithOpts(signer, hugeKey(size), crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return response
}
