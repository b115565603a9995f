package certificates

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/youmark/pkcs8"
)

// decryptKey decrypts a private key with a password, in both formats that OpenSSL writes. It
// returns an unencrypted key unchanged.
func decryptKey(text []byte, password string) ([]byte, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it has no private key in PEM")
	}
	legacy := x509.IsEncryptedPEMBlock(block) //nolint:staticcheck // weak, but asked for
	if !legacy && block.Type != "ENCRYPTED PRIVATE KEY" {
		return text, nil
	}
	if password == "" {
		return nil, errors.New("it is encrypted, but there is no password")
	}
	if legacy {
		der, err := x509.DecryptPEMBlock(block, []byte(password)) //nolint:staticcheck // as above
		if err != nil {
			return nil, fmt.Errorf("decrypting: %w", err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: der}), nil
	}
	if err := checkDerivation(block.Bytes); err != nil {
		return nil, fmt.Errorf("decrypting: %w", err)
	}
	key, err := pkcs8.ParsePKCS8PrivateKey(block.Bytes, []byte(password))
	if err != nil {
		return nil, fmt.Errorf("decrypting: %w", err)
	}
	return pemOfKey(key)
}

// Bounds of key derivation. For scrypt, N·r·p is bounded, which takes 128 times as many
// bytes. For PBKDF2, the iterations are bounded. OpenSSL writes 131,072 and 2,048.
const (
	maxScrypt     = 1 << 21
	maxIterations = 2_000_000
)

var (
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
	oidScrypt = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11591, 4, 11}
)

// checkDerivation refuses an encrypted key (PKCS #8) whose parameters demand more time or
// memory than any known program uses. Decryption finds all other faults.
func checkDerivation(der []byte) error {
	var sealed struct {
		Algorithm struct {
			ID     asn1.ObjectIdentifier
			Params struct{ KDF, Cipher pkix.AlgorithmIdentifier }
		}
		Data []byte
	}
	if _, err := asn1.Unmarshal(der, &sealed); err != nil {
		return fmt.Errorf("PKCS #8: %w", err)
	}
	kdf := sealed.Algorithm.Params.KDF
	switch {
	case kdf.Algorithm.Equal(oidPBKDF2):
		var params struct {
			Salt       asn1.RawValue
			Iterations int64
			KeyLength  int64                    `asn1:"optional"`
			PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
		}
		if _, err := asn1.Unmarshal(kdf.Parameters.FullBytes, &params); err != nil {
			return fmt.Errorf("the parameters of PBKDF2: %w", err)
		}
		if params.Iterations < 1 || params.Iterations > maxIterations {
			return fmt.Errorf("%d iterations of PBKDF2: must be 1–%d", params.Iterations, maxIterations)
		}
	case kdf.Algorithm.Equal(oidScrypt):
		var params struct {
			Salt      []byte
			N, R, P   int64
			KeyLength int64 `asn1:"optional"`
		}
		if _, err := asn1.Unmarshal(kdf.Parameters.FullBytes, &params); err != nil {
			return fmt.Errorf("the parameters of scrypt: %w", err)
		}
		n, r, p := params.N, params.R, params.P
		if min(n, r, p) < 1 || max(n, r, p) > maxScrypt || n*r > maxScrypt || n*r*p > maxScrypt {
			return fmt.Errorf("the parameters N=%d, r=%d, p=%d of scrypt: their product must be 1–%d", n, r, p, maxScrypt)
		}
	}
	return nil
}
