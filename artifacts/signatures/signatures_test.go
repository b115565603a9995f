package signatures

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"

	"github.com/kopf-wasm/kopf/artifacts/oci"
)

var digest = "sha256:" + strings.Repeat("0a", 32)

// newKey makes a key, and its public part in PEM.
func newKey(t testing.TB) (*PrivateKey, string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := newPrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(secret.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// signed is a signature of a digest, in one of both forms.
func signed(t *testing.T, key *PrivateKey, digest string, asBundle bool, annotations map[string]string) Signature {
	t.Helper()
	if asBundle {
		raw, err := newBundle(key, digest, annotations)
		if err != nil {
			t.Fatal(err)
		}
		return Signature{Where: "here", Bundle: raw}
	}
	payload, err := newPayload("example.com/op", digest, annotations)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := key.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	return Signature{Where: "here", Payload: payload, Raw: raw}
}

// Bad signatures are refused, with the reason.
func TestBadSignatures(t *testing.T) {
	key, _ := newKey(t)
	other, _ := newKey(t)
	config := ByKeys([]*PublicKey{key.Public()}, map[string]string{"env": "prod"})
	good := map[string]string{"env": "prod"}
	edit := func(s Signature, change func(b *bundle)) Signature {
		var b bundle
		if err := json.Unmarshal(s.Bundle, &b); err != nil {
			t.Fatal(err)
		}
		change(&b)
		s.Bundle, _ = json.Marshal(b)
		return s
	}
	bundled := signed(t, key, digest, true, good)
	tagged := signed(t, key, digest, false, good)
	changed := tagged
	changed.Payload = []byte(strings.Replace(string(tagged.Payload), "prod", "test", 1))
	provenance := func() Signature {
		e := &envelope{PayloadType: statementMedia, Payload: []byte(`{"_type":"` + statementType + `","predicateType":"https://slsa.dev/provenance/v1","subject":[{"digest":{"sha256":"` + digest[7:] + `"}}]}`)}
		raw, err := key.Sign(e.message())
		if err != nil {
			t.Fatal(err)
		}
		return edit(bundled, func(b *bundle) { e.Signatures = b.Envelope.Signatures; e.Signatures[0].Sig = raw; b.Envelope = e })
	}
	tests := []struct {
		name  string
		found []Signature
		words string // none: it is good
	}{
		{"by the key", []Signature{tagged}, ""},
		{"a bundle by the key", []Signature{bundled}, ""},
		{"one of many", []Signature{changed, signed(t, other, digest, false, good), bundled}, ""},
		{"none", nil, "it has no signatures"},
		{"by another key", []Signature{signed(t, other, digest, false, good), signed(t, other, digest, true, good)}, "no signature by key"},
		{"of another artifact", []Signature{signed(t, key, "sha256:other", false, good)}, "it signs another artifact: sha256:other"},
		{"a bundle of another artifact", []Signature{signed(t, key, "sha256:other", true, good)}, "it signs another artifact"},
		{"with another annotation", []Signature{signed(t, key, digest, false, map[string]string{"env": "test"})}, "with env=prod"},
		{"without an annotation", []Signature{signed(t, key, digest, true, nil)}, "with env=prod"},
		{"a changed payload", []Signature{changed}, "no signature by key"},
		{"a changed statement", []Signature{edit(bundled, func(b *bundle) { b.Envelope.Payload = append(b.Envelope.Payload, ' ') })}, "no signature by key"},
		{"another type of payload", []Signature{edit(bundled, func(b *bundle) { b.Envelope.PayloadType = "text/plain" })}, "no statement with one signature"},
		{"no envelope", []Signature{edit(bundled, func(b *bundle) { b.Envelope = nil })}, "no statement with one signature"},
		{"a bundle of something else", []Signature{edit(bundled, func(b *bundle) { b.MediaType = "text/plain" })}, `type "text/plain"`},
		{"a bundle by a certificate", []Signature{edit(bundled, func(b *bundle) { b.Material.PublicKey = nil })}, "signed with a certificate"},
		{"no JSON", []Signature{{Where: "here", Bundle: []byte("{")}}, "here: its bundle cannot be read"},
		{"an attestation is no signature", []Signature{provenance()}, "not a signature, but \"https://slsa.dev/provenance/v1\""},
		{"an empty signature", []Signature{{Payload: tagged.Payload}}, "no signature by key"},
	}
	for _, tt := range tests {
		signers, err := config.Verify(t.Context(), digest, tt.found, nil)
		switch {
		case tt.words == "" && (err != nil || len(signers) == 0):
			t.Errorf("%s: %v, %v", tt.name, signers, err)
		case tt.words != "" && (!errors.Is(err, ErrUnverified) || !strings.Contains(err.Error(), tt.words)):
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.words)
		}
	}
}

// Signers are counted, not entries.
// Without a requirement, or without a place with signatures, nothing is verified.
func TestNothingVerifiesNothing(t *testing.T) {
	key, _ := newKey(t)
	for name, config := range map[string]*Config{"the zero value": {}, "no keys": ByKeys(nil, nil)} {
		if signers, err := config.Verify(t.Context(), digest, []Signature{signed(t, key, digest, false, nil)}, nil); !errors.Is(err, ErrUnverified) {
			t.Errorf("%s: %v, error %v", name, signers, err)
		}
	}
	nowhere := &Verifier{Config: ByKeys([]*PublicKey{key.Public()}, nil)}
	if signers, err := nowhere.Verify(t.Context(), oci.Reference{Registry: "example.com", Repository: "op", Digest: digest}); !errors.Is(err, ErrUnverified) {
		t.Errorf("without a place: %v, error %v", signers, err)
	}
}

func TestAnyOf(t *testing.T) {
	a, aPEM := newKey(t)
	b, bPEM := newKey(t)
	_, cPEM := newKey(t)
	entry := func(pem, annotation string) string {
		text := "  - kind: pubKey\n    key: |\n      " + strings.ReplaceAll(strings.TrimSpace(pem), "\n", "\n      ") + "\n"
		if annotation != "" {
			text += "    annotations: {as: " + annotation + "}\n"
		}
		return text
	}
	anyOf := func(minimum string, entries ...string) string {
		return "apiVersion: v1\nanyOf:\n  minimumMatches: " + minimum + "\n  signatures:\n" + strings.Join(entries, "")
	}
	byA := signed(t, a, digest, false, map[string]string{"as": "x"})
	byAToo := signed(t, a, digest, true, map[string]string{"as": "y"})
	byB := signed(t, b, digest, false, map[string]string{"as": "x"})
	tests := []struct {
		name   string
		config string
		found  []Signature
		good   bool
	}{
		{"one of two", anyOf("1", entry(aPEM, ""), entry(bPEM, "")), []Signature{byB}, true},
		{"two of three", anyOf("2", entry(aPEM, ""), entry(bPEM, ""), entry(cPEM, "")), []Signature{byA, byB}, true},
		{"two of three, one signs", anyOf("2", entry(aPEM, ""), entry(bPEM, ""), entry(cPEM, "")), []Signature{byA}, false},
		{"two entries of one signer", anyOf("2", entry(aPEM, ""), entry(aPEM, "x"), entry(bPEM, "")), []Signature{byA}, false},
		{"two signatures of one signer", anyOf("2", entry(aPEM, "x"), entry(aPEM, "y"), entry(bPEM, "")), []Signature{byA, byAToo}, false},
		{"a matching that has to be found", anyOf("2", entry(aPEM, ""), entry(bPEM, ""), entry(aPEM, "x")), []Signature{byA, byB}, true},
		{"allOf and anyOf", anyOf("1", entry(bPEM, "")) + "allOf:\n" + entry(aPEM, "x"), []Signature{byA, byB}, true},
		{"anyOf without allOf", anyOf("1", entry(bPEM, "")) + "allOf:\n" + entry(aPEM, "x"), []Signature{byB}, false},
		{"allOf without anyOf", anyOf("1", entry(bPEM, "")) + "allOf:\n" + entry(aPEM, "x"), []Signature{byA}, false},
	}
	for _, tt := range tests {
		config, err := ParseConfig([]byte(tt.config))
		if err != nil {
			t.Fatalf("%s: %v\n%s", tt.name, err, tt.config)
		}
		if _, err := config.Verify(t.Context(), digest, tt.found, nil); (err == nil) != tt.good || err != nil && !errors.Is(err, ErrUnverified) {
			t.Errorf("%s: error %v", tt.name, err)
		}
	}
}

func TestParseConfig(t *testing.T) {
	_, key := newKey(t)
	quoted, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(key + key)
	if err != nil {
		t.Fatal(err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(weak.Public())
	if err != nil {
		t.Fatal(err)
	}
	weakPEM, _ := json.Marshal(string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	tests := []struct{ text, words string }{
		{"apiVersion: v1\nallOf: [{kind: pubKey, owner: me, key: KEY, annotations: {env: prod}}]", ""},
		{"apiVersion: v1\nallOf: [{kind: genericIssuer, issuer: https://i, subject: {equal: me@example.com}}]", ""},
		{"apiVersion: v1\nanyOf: {signatures: [{kind: githubAction, owner: me, repo: op}]}", ""},
		{"", `apiVersion "": want v1`},
		{"apiVersion: v2\nallOf: []", `apiVersion "v2": want v1`},
		{"apiVersion: v1", "neither allOf nor anyOf"},
		{"apiVersion: v1\nallOff: []", "field allOff not found"},
		{"apiVersion: v1\nallOf: [{kind: pubKey}]", "allOf, entry 1: pubKey needs key"},
		{"apiVersion: v1\nallOf: [{kind: pubKey, key: x}]", "no public key in PEM"},
		{"apiVersion: v1\nallOf: [{kind: pubKey, key: WEAK}]", "1024 bits is too weak"},
		{"apiVersion: v1\nallOf: [{kind: pubKey, key: KEY, issuer: https://i}]", "pubKey has no issuer"},
		{"apiVersion: v1\nallOf: [{kind: other}]", `kind "other"`},
		{"apiVersion: v1\nallOf: [{kind: pubKey, key: KEY}]\n---\n", "more than one document"},
		{"apiVersion: v1\nallOf: [{kind: pubKey, key: KEY}]\n---\nallOf: [{kind: githubAction, owner: me}]", "more than one document"},
		{"apiVersion: v1\nallOf: [{kind: pubKey, key: TWICE}]", "more than one key"},
		{"apiVersion: v1\nallOf: [{kind: pubKey, key: KEY}]\nallOf: []", "already set"},
		{"apiVersion: v1\nallOf: {kind: pubKey, key: KEY}", "cannot unmarshal"},
		{"allOf: &a [*a]", "aliases"},
		{"\x00", "control characters"},
		{"apiVersion: v1\nallOf: [{kind: genericIssuer, issuer: https://i}]", "needs subject"},
		{"apiVersion: v1\nallOf: [{kind: genericIssuer, issuer: https://i, subject: {}}]", "either equal or urlPrefix"},
		{"apiVersion: v1\nallOf: [{kind: genericIssuer, issuer: https://i, subject: {equal: a, urlPrefix: https://b}}]", "either equal or urlPrefix"},
		{"apiVersion: v1\nallOf: [{kind: genericIssuer, issuer: https://i, subject: {urlPrefix: b}}]", "no URL"},
		{"apiVersion: v1\nallOf: [{kind: githubAction, repo: op}]", "needs owner"},
		{"apiVersion: v1\nanyOf: {minimumMatches: 2, signatures: [{kind: githubAction, owner: me}]}", "only 1 signatures"},
		{"apiVersion: v1\nanyOf: {minimumMatches: 0, signatures: [{kind: githubAction, owner: me}]}", "want at least 1"},
	}
	for _, tt := range tests {
		text := strings.NewReplacer("WEAK", string(weakPEM), "TWICE", string(twice), "KEY", string(quoted)).Replace(tt.text)
		_, err := ParseConfig([]byte(text))
		if (err == nil) != (tt.words == "") || err != nil && !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: error %v, want %q", tt.text, err, tt.words)
		}
	}
	config, err := ParseConfig([]byte("apiVersion: v1\nallOf: [{kind: genericIssuer, issuer: https://i, subject: {urlPrefix: 'https://github.com/me'}}]"))
	if err != nil || config.AllOf[0].Subject.URLPrefix != "https://github.com/me/" {
		t.Errorf("%+v, %v", config, err)
	}
}

// A key of cosign opens with its password only.
func TestEncryptedKey(t *testing.T) {
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	seal := func(n int, kdf string) []byte {
		var s sealed
		s.KDF.Name, s.KDF.Params.N, s.KDF.Params.R, s.KDF.Params.P, s.KDF.Salt = kdf, n, 8, 1, []byte("salt")
		s.Cipher.Name, s.Cipher.Nonce = "nacl/secretbox", make([]byte, 24)
		derived, err := scrypt.Key([]byte("secret"), s.KDF.Salt, 1024, 8, 1, 32)
		if err != nil {
			t.Fatal(err)
		}
		s.Ciphertext = secretbox.Seal(nil, der, (*[24]byte)(s.Cipher.Nonce), (*[32]byte)(derived))
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED SIGSTORE PRIVATE KEY", Bytes: text})
	}
	tests := []struct {
		name, password string
		text           []byte
		words          string
	}{
		{"the password", "secret", seal(1024, "scrypt"), ""},
		{"another one", "wrong", seal(1024, "scrypt"), "wrong password"},
		{"a bomb", "secret", seal(1<<30, "scrypt"), "out of bounds"},
		{"a smaller bomb", "secret", seal(1<<20, "scrypt"), "out of bounds"},
		{"no parameters", "secret", seal(0, "scrypt"), "private key: "},
		{"another derivation", "secret", seal(1024, "argon2"), `"argon2"`},
		{"no PEM", "", []byte("text"), "no private key in PEM"},
		{"a certificate", "", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"}), "CERTIFICATE"},
		{"no key", "", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), "private key: "},
	}
	for _, tt := range tests {
		_, err := ParsePrivateKey(tt.text, func() ([]byte, error) { return []byte(tt.password), nil })
		if (err == nil) != (tt.words == "") || err != nil && !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.words)
		}
	}
}
