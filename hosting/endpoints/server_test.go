package endpoints

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// TestCertificateThatCannotBeReadOnce: an unreadable key is tried again, although the files have the same sizes and times when it can
// be read. The log says it once.
func TestCertificateThatCannotBeReadOnce(t *testing.T) {
	var log bytes.Buffer
	f := &files{certificate: filepath.Join(t.TempDir(), "tls.crt"), key: filepath.Join(t.TempDir(), "tls.key"), log: zerolog.New(&log)}
	write := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var last []byte
	for _, fails := range []bool{false, true} {
		own, err := ownCertificate()
		if err != nil {
			t.Fatal(err)
		}
		key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
		write(f.certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}))
		write(f.key, text)
		when := time.Now()
		for _, content := range [][]byte{bytes.Repeat([]byte("x"), len(text)), text} {
			if fails {
				write(f.key, content)
			}
			if err := os.Chtimes(f.key, when, when); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if pair, err := f.get(); err != nil {
					t.Fatal(err)
				} else {
					last = pair.Certificate[0]
				}
			}
		}
		if !bytes.Equal(last, own.Certificate[0]) {
			t.Error("the new certificate is not used")
		}
	}
	if n := bytes.Count(log.Bytes(), []byte("cannot be read")); n != 1 {
		t.Errorf("logged %d times: %s", n, log.Bytes())
	}
}
