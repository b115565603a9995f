package signatures

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"
)

// ParsePrivateKey parses a private key in PEM: unencrypted PKCS #8, or a cosign key, which
// the password decrypts.
func ParsePrivateKey(text []byte, password func() ([]byte, error)) (*PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no private key in PEM")
	}
	if err := checkSize(block); err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	der := block.Bytes
	switch block.Type {
	case "PRIVATE KEY":
	case "ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY":
		secret, err := password()
		if err != nil {
			return nil, err
		}
		if der, err = decrypted(der, secret); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("private key: PEM of %q is neither PRIVATE KEY (PKCS #8: openssl pkcs8 -topk8 -nocrypt) nor that of cosign", block.Type)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return newPrivateKey(key)
}

// sealed is an encrypted key in the format of cosign.
//
// See https://github.com/secure-systems-lab/go-securesystemslib/tree/main/encrypted
type sealed struct {
	KDF struct {
		Name   string `json:"name"`
		Params struct {
			N int `json:"N"`
			R int `json:"r"`
			P int `json:"p"`
		} `json:"params"`
		Salt []byte `json:"salt"`
	} `json:"kdf"`
	Cipher struct {
		Name  string `json:"name"`
		Nonce []byte `json:"nonce"`
	} `json:"cipher"`
	Ciphertext []byte `json:"ciphertext"`
}

// maxDerivation bounds N·r·p of scrypt, which takes 128 times as many bytes and a
// proportional time. Cosign uses 2^19.
const maxDerivation = 1 << 22

func decrypted(data, password []byte) ([]byte, error) {
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	params := s.KDF.Params
	switch {
	case s.KDF.Name != "scrypt" || s.Cipher.Name != "nacl/secretbox" || len(s.Cipher.Nonce) != 24:
		return nil, fmt.Errorf("private key: encrypted with %q and %q, not with scrypt and nacl/secretbox", s.KDF.Name, s.Cipher.Name)
	case params.N < 0 || params.N > maxDerivation || params.R < 1 || params.P < 1 || params.R > maxDerivation || params.P > maxDerivation || params.N*params.R*params.P > maxDerivation:
		return nil, errors.New("private key: the parameters of scrypt are out of bounds")
	}
	derived, err := scrypt.Key(password, s.KDF.Salt, params.N, params.R, params.P, 32)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	opened, ok := secretbox.Open(nil, s.Ciphertext, (*[24]byte)(s.Cipher.Nonce), (*[32]byte)(derived))
	if !ok {
		return nil, errors.New("private key: wrong password")
	}
	return opened, nil
}
