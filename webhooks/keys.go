package webhooks

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/youmark/pkcs8"
)

// decryptKey decrypts a private key with a password: both forms that openssl
// writes. A key that is not encrypted needs none.
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
	key, err := pkcs8.ParsePKCS8PrivateKey(block.Bytes, []byte(password))
	if err != nil {
		return nil, fmt.Errorf("decrypting: %w", err)
	}
	return pemOfKey(key)
}
