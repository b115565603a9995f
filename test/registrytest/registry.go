// Package registrytest starts registries for tests: real ones, in processes of
// their own, on this machine.
package registrytest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// Options say what a registry is like.
type Options struct {
	Referrers bool // the one with the referrers of OCI 1.1, without authentication
	TLS       bool // with a certificate of its own authority, see Registry.CA
	User      string
	Password  string // both empty: everybody may do anything
}

// Registry is a running registry, without content.
type Registry struct {
	Host string // 127.0.0.1:PORT
	CA   string // the file with the certificate; empty without TLS

	// Stop ends it before the test does.
	Stop func()
}

// Start starts a registry, which ends with the test. Without its program the
// test is skipped, or fails in CI.
func Start(t *testing.T, o Options) *Registry {
	t.Helper()
	program := find(t)
	r := &Registry{}
	args := []string{}
	if o.Referrers {
		args = append(args, "-kind", "referrers")
	}
	if o.TLS {
		cert, key := certificate(t)
		r.CA = cert
		args = append(args, "-cert", cert, "-key", key)
	}
	if o.User != "" {
		args = append(args, "-htpasswd", htpasswd(t, o))
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	t.Cleanup(r.Stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the registry does not start: %v", err)
	}
	r.Host = strings.TrimSpace(line)
	return r
}

// find returns the path of the program.
func find(t *testing.T) string {
	t.Helper()
	path := os.Getenv("KOPF_REGISTRY")
	if path == "" {
		root, err := root()
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(root, ".cache", "bin", "registry")
	}
	if _, err := os.Stat(path); err != nil {
		const how = "the registry of the tests is not built: run 'make registry'"
		if ci := os.Getenv("CI"); ci != "" && ci != "0" && ci != "false" {
			t.Fatal(how)
		}
		t.Skip("SKIPPED: " + how)
	}
	return path
}

// root walks up to the folder of the root module.
func root() (string, error) {
	at, err := os.Getwd()
	for ; err == nil; at = filepath.Dir(at) {
		text, readErr := os.ReadFile(filepath.Join(at, "go.mod"))
		if readErr == nil && strings.HasPrefix(string(text), "module github.com/kopf-wasm/kopf\n") {
			return at, nil
		}
		if at == filepath.Dir(at) {
			err = errors.New("no go.mod of the project above this folder")
		}
	}
	return "", err
}

func htpasswd(t *testing.T, o Options) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(o.Password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "htpasswd", []byte(o.User+":"+string(hash)+"\n"))
}

// certificate makes a certificate of this machine, signed by itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		write(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
