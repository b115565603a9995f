package signatures

import (
	"testing"
)

// FuzzBundle: content that the key has not signed is never accepted as signed.
func FuzzBundle(f *testing.F) {
	key, _ := newKey(f)
	other, _ := newKey(f)
	good, err := newBundle(other, digest, map[string]string{"env": "prod"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{}},"dsseEnvelope":{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":""}]}}`))
	f.Add([]byte(`{"dsseEnvelope":{"signatures":[null]}}`))
	keys := []*PublicKey{key.Public()}
	f.Fuzz(func(t *testing.T, bundle []byte) {
		s := Signature{Where: "here", Bundle: bundle}
		if signer, err := s.check(digest, keys); err == nil {
			t.Errorf("signed by %s", signer)
		}
		s.byCertificate()
		s = Signature{Where: "here", Payload: bundle, Raw: bundle}
		if signer, err := s.check(digest, keys); err == nil {
			t.Errorf("signed by %s", signer)
		}
	})
}

// TestEveryBitOfABundle: a bundle with any bit changed is refused, or says the same.
func TestEveryBitOfABundle(t *testing.T) {
	key, _ := newKey(t)
	good, err := newBundle(key, digest, map[string]string{"env": "prod"})
	if err != nil {
		t.Fatal(err)
	}
	keys := []*PublicKey{key.Public()}
	for at := range good {
		for bit := range 8 {
			changed := append([]byte{}, good...)
			changed[at] ^= 1 << bit
			s := Signature{Where: "here", Bundle: changed}
			if signer, err := s.check(digest, keys); err == nil && signer.Annotations["env"] != "prod" {
				t.Errorf("byte %d, bit %d: signed by %s", at, bit, signer)
			}
		}
	}
}
