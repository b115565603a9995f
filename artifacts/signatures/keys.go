package signatures

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// PublicKey verifies signatures by one key: ECDSA, RSA of at least 2048 bits (PKCS #1), or
// Ed25519. As in cosign, the hash is SHA-256 where there is a choice.
type PublicKey struct {
	key         crypto.PublicKey
	fingerprint string // the SHA-256 of the key's PKIX form, in hexadecimal
}

// ParsePublicKey parses a key in PEM.
func ParsePublicKey(text []byte) (*PublicKey, error) {
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return nil, errors.New("no public key in PEM (BEGIN PUBLIC KEY)")
	case block.Type != "PUBLIC KEY":
		return nil, fmt.Errorf("no public key in PEM (BEGIN PUBLIC KEY), but %q", legible.Short(block.Type, 40))
	}
	if more, _ := pem.Decode(rest); more != nil {
		return nil, errors.New("more than one key: give each key in its own file or entry")
	}
	if err := checkSize(block); err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	return newPublicKey(key)
}

// Limits of a key. The cost of operations grows with the square or the cube of its length. Authors of hosted operators choose the
// keys, and their registries the signatures: ten keys of 16,384 bits with a large exponent took half a minute for a hundred signatures.
const (
	maxKey      = 32 << 10 // bytes of one
	maxBits     = 4096     // of RSA: more than key management services have
	maxExponent = 65537    // of RSA: that of practically all keys
)

func checkSize(block *pem.Block) error {
	if len(block.Bytes) > maxKey {
		return fmt.Errorf("a key of %d bytes; at most %d are possible", len(block.Bytes), maxKey)
	}
	return nil
}

func newPublicKey(key crypto.PublicKey) (*PublicKey, error) {
	switch key := key.(type) {
	case *ecdsa.PublicKey, ed25519.PublicKey:
	case *rsa.PublicKey:
		if key.N.BitLen() < 2048 {
			return nil, fmt.Errorf("public key: RSA of %d bits is too weak", key.N.BitLen())
		}
		if key.N.BitLen() > maxBits {
			return nil, fmt.Errorf("public key: RSA of %d bits; at most %d are possible", key.N.BitLen(), maxBits)
		}
		if key.E > maxExponent {
			return nil, fmt.Errorf("public key: RSA with the exponent %d; at most %d is possible", key.E, maxExponent)
		}
	default:
		return nil, fmt.Errorf("public key: unsupported type %T: must be ECDSA, RSA or Ed25519", key)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return &PublicKey{key: key, fingerprint: hex.EncodeToString(sum[:])}, nil
}

// Verifies reports whether this key has made a signature of a message.
func (k *PublicKey) Verifies(message, signature []byte) bool {
	sum := sha256.Sum256(message)
	switch key := k.key.(type) {
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, sum[:], signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
	case ed25519.PublicKey:
		return len(signature) == ed25519.SignatureSize && ed25519.Verify(key, message, signature)
	}
	return false
}

// PrivateKey creates signatures.
type PrivateKey struct {
	signer crypto.Signer
	public *PublicKey
}

// Public returns the key that verifies the signatures of this key.
func (k *PrivateKey) Public() *PublicKey { return k.public }

func newPrivateKey(key any) (*PrivateKey, error) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("private key: %T cannot sign", key)
	}
	public, err := newPublicKey(signer.Public())
	if err != nil {
		return nil, err
	}
	return &PrivateKey{signer: signer, public: public}, nil
}

// Sign signs a message.
func (k *PrivateKey) Sign(message []byte) ([]byte, error) {
	if _, ok := k.signer.(ed25519.PrivateKey); ok {
		return k.signer.Sign(rand.Reader, message, crypto.Hash(0))
	}
	sum := sha256.Sum256(message)
	return k.signer.Sign(rand.Reader, sum[:], crypto.SHA256)
}
