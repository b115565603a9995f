package datadir

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
)

func TestEnsureKeysServesLoopback(t *testing.T) {
	folder := open(t)
	if err := folder.EnsureKeys(); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(folder.Path(CertFile), folder.Path(KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(read(t, folder, CACertFile)) {
		t.Fatal("no certificate in the authority's file")
	}
	for _, host := range []string{"127.0.0.1", "localhost", "kubernetes.default.svc"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "example.com"}); err == nil {
		t.Error("example.com: got a valid certificate, want an error")
	}
}

func TestEnsureKeysKeepsWhatIsThere(t *testing.T) {
	folder := open(t)
	names := []string{CACertFile, CertFile, KeyFile, SAKeyFile}
	if err := folder.EnsureKeys(); err != nil {
		t.Fatal(err)
	}
	before := map[string][]byte{}
	for _, name := range names {
		before[name] = read(t, folder, name)
		info, err := os.Stat(folder.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode of %s: got %o, want 600", name, got)
		}
	}
	if err := folder.EnsureKeys(); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !bytes.Equal(read(t, folder, name), before[name]) {
			t.Errorf("%s was made again", name)
		}
	}
}

func TestEnsureKeysRepairsHalfASet(t *testing.T) {
	folder := open(t)
	if err := folder.EnsureKeys(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(folder.Path(KeyFile)); err != nil {
		t.Fatal(err)
	}
	if err := folder.EnsureKeys(); err != nil {
		t.Fatal(err)
	}
	if _, err := tls.LoadX509KeyPair(folder.Path(CertFile), folder.Path(KeyFile)); err != nil {
		t.Errorf("after the repair: %v", err)
	}
}

func read(t *testing.T, folder *Folder, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(folder.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
