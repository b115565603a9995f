package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/youmark/pkcs8"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// TestEditedSecrets: a secret that others have edited is refused before it costs much.
func TestEditedSecrets(t *testing.T) {
	made, err := DefaultSchedule.next(nil, []string{"x"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	good, err := made.encode()
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rsaText, err := pemOfKey(rsaKey)
	if err != nil {
		t.Fatal(err)
	}
	bomb := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: make([]byte, 40_000)})
	for name, tt := range map[string]struct {
		change map[string][]byte
		want   string
	}{
		"nothing":                {nil, ""},
		"a huge part":            {map[string][]byte{"ca.crt": bytes.Repeat(good["ca.crt"], 1000)}, "at most 65536 are ours"},
		"a huge key":             {map[string][]byte{"tls.key": bytes.Repeat([]byte("x"), 1<<20)}, "at most 65536 are ours"},
		"many authorities":       {map[string][]byte{"ca.crt": bytes.Repeat(good["ca.crt"], 50), "ca.key": bytes.Repeat(good["ca.key"], 50)}, "not that of an operator"},
		"a long key":             {map[string][]byte{"ca.key": bomb}, "not that of an operator"},
		"a long key of a server": {map[string][]byte{"tls.key": bomb}, "not that of an operator"},
		"a key of RSA":           {map[string][]byte{"tls.key": rsaText}, "not that of an operator"},
		"two keys":               {map[string][]byte{"tls.key": bytes.Repeat(good["tls.key"], 2)}, "not that of an operator"},
		"no keys":                {map[string][]byte{"tls.key": nil}, "not that of an operator"},
		"not UTF-8":              {map[string][]byte{"ca.crt": bytes.Repeat([]byte{0xff}, 60_000)}, "no certificates in PEM"},
		"beginnings of PEM":      {map[string][]byte{"ca.crt": bytes.Repeat([]byte("-----BEGIN CERTIFICATE-----\n"), 2000)}, "no certificates in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for key, value := range good {
				data[key] = value
			}
			for key, value := range tt.change {
				data[key] = value
			}
			took := boundedtest.Allocated(func() { _, err = decodeBundle(data) })
			if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if took > 16<<20 {
				t.Errorf("%d bytes are allocated", took)
			}
		})
	}
}

// TestKeysWithBombs: an encrypted key says itself how long its password is to be worked on.
func TestKeysWithBombs(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// The parameters are written into a good key: encrypting with them would take as long.
	sealed := func(opts *pkcs8.Opts, old, changed []byte) []byte {
		der, err := pkcs8.MarshalPrivateKey(key, []byte("secret"), opts)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(der, old) != 1 {
			t.Fatalf("the parameters %x are not in the key", old)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: bytes.Replace(der, old, changed, 1)})
	}
	byScrypt := &pkcs8.Opts{Cipher: pkcs8.AES256CBC, KDFOpts: pkcs8.ScryptOpts{CostParameter: 1 << 14, BlockSize: 8, ParallelizationParameter: 1, SaltSize: 16}}
	byPBKDF2 := &pkcs8.Opts{Cipher: pkcs8.AES256CBC, KDFOpts: pkcs8.PBKDF2Opts{SaltSize: 8, IterationCount: 100_000, HMACHash: pkcs8.DefaultOpts.KDFOpts.(pkcs8.PBKDF2Opts).HMACHash}}
	scryptN, iterations := []byte{2, 2, 0x40, 0, 2, 1, 8}, []byte{2, 3, 0x01, 0x86, 0xa0}
	for _, tt := range []struct {
		name string
		text []byte
		want string
	}{
		{"scrypt", sealed(byScrypt, scryptN, scryptN), ""},
		{"scrypt with another N", sealed(byScrypt, scryptN, []byte{2, 2, 0x20, 0, 2, 1, 8}), "decrypting: "}, // it is not the key
		{"scrypt that wants 8 GiB", sealed(byScrypt, []byte{0, 2, 1, 8, 2, 1, 1}, []byte{0, 2, 1, 8, 2, 1, 0x7f}), "of scrypt: their product must be 1–2097152"},
		{"scrypt with a negative N", sealed(byScrypt, scryptN, []byte{2, 2, 0x80, 0, 2, 1, 8}), "of scrypt: their product must be"},
		{"PBKDF2", sealed(byPBKDF2, iterations, iterations), ""},
		{"PBKDF2 with 8 million iterations", sealed(byPBKDF2, iterations, []byte{2, 3, 0x7f, 0xff, 0xff}), "8388607 iterations of PBKDF2: must be 1–2000000"},
		{"PBKDF2 with negative iterations", sealed(byPBKDF2, iterations, []byte{2, 3, 0xff, 0x06, 0xa0}), "iterations of PBKDF2: must be"},
		{"no structure", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1, 2, 3}}), "decrypting: PKCS #8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decryptKey(tt.text, "secret")
			if got := fmt.Sprint(err); tt.want == "" && err != nil || tt.want != "" && !strings.Contains(got, tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestLongTexts are refused before they are read.
func TestLongTexts(t *testing.T) {
	if _, err := Parse(make([]byte, MaxText+1)); err == nil || !strings.Contains(err.Error(), "certificates have at most") {
		t.Errorf("error %v", err)
	}
}
