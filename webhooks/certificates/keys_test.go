package certificates

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/youmark/pkcs8"
)

// TestEncryptedKeys: both forms that openssl writes, and their errors.
func TestEncryptedKeys(t *testing.T) {
	made, err := DefaultSchedule.next(nil, []string{"op.ns.svc"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := x509.MarshalPKCS8PrivateKey(made.leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	modern, err := pkcs8.MarshalPrivateKey(made.leaf.PrivateKey, []byte("secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	legacy, err := x509.EncryptPEMBlock(rand.Reader, "PRIVATE KEY", plain, []byte("secret"), x509.PEMCipherAES256) //nolint:staticcheck // weak, but in use
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]*pem.Block{
		"plain": {Type: "PRIVATE KEY", Bytes: plain}, "modern": {Type: "ENCRYPTED PRIVATE KEY", Bytes: modern}, "legacy": legacy,
		"broken": {Type: "ENCRYPTED PRIVATE KEY", Bytes: modern[:50]},
	}
	for _, tt := range []struct{ key, password, want string }{
		{"plain", "", ""},
		{"plain", "unneeded", ""},
		{"modern", "secret", ""},
		{"legacy", "secret", ""},
		{"modern", "", "tls.key: it is encrypted, but there is no password"},
		{"legacy", "", "tls.key: it is encrypted, but there is no password"},
		{"modern", "wrong", "tls.key: decrypting: "},
		{"legacy", "wrong", "pkeyfile of the webhook server: "},
		{"broken", "secret", "tls.key: decrypting: "},
	} {
		t.Run(tt.key+" "+tt.password, func(t *testing.T) {
			folder := t.TempDir()
			cert, key := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
			for path, text := range map[string][]byte{cert: pemOf(made.leaf.Leaf), key: pem.EncodeToMemory(keys[tt.key])} {
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			from := &Files{Certificate: cert, Key: key, Password: tt.password, Authorities: func() ([]byte, error) { return nil, nil }}
			loaded, err := from.Load(t.Context())
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want == "" && !bytes.Equal(loaded.Certificate.Certificate[0], made.leaf.Certificate[0]):
				t.Error("another certificate is loaded")
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
