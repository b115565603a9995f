package signatures

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"
	"time"
)

// modulus is the public part of a key of RSA of this size, as far as anybody can see.
func modulus(t *testing.T, bits int) *big.Int {
	t.Helper()
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), uint(bits-1)))
	if err != nil {
		t.Fatal(err)
	}
	return n.SetBit(n.SetBit(n, bits-1, 1), 0, 1)
}

func parsed(t *testing.T, key *rsa.PublicKey) (*PublicKey, error) {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return ParsePublicKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// TestKeysAreCheap: authors of hosted operators choose keys, and what is verified with them.
func TestKeysAreCheap(t *testing.T) {
	for _, tt := range []struct {
		bits, exponent int
		good           bool
	}{{2048, 3, true}, {4096, 65537, true}, {4097, 65537, false}, {16384, 65537, false}, {4096, 1<<31 - 1, false}} {
		if _, err := parsed(t, &rsa.PublicKey{N: modulus(t, tt.bits), E: tt.exponent}); (err == nil) != tt.good {
			t.Errorf("%d bits, exponent %d: %v", tt.bits, tt.exponent, err)
		}
	}
}

// TestVerificationsEnd: with the context, although many signatures are left.
func TestVerificationsEnd(t *testing.T) {
	key, err := parsed(t, &rsa.PublicKey{N: modulus(t, 4096), E: 65537})
	if err != nil {
		t.Fatal(err)
	}
	found := make([]Signature, 100_000) // half a minute
	for i := range found {
		found[i] = Signature{Where: "x", Payload: []byte("{}"), Raw: make([]byte, 512)}
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("enough"))
	defer cancel()
	began := time.Now()
	if _, err := ByKeys([]*PublicKey{key}, nil).Verify(ctx, "sha256:", found, nil); err == nil || err.Error() != "enough" || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
