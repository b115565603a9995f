package datadir

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

// Names of the key and certificate files in the folder.
const (
	CACertFile = "ca.crt"        // authority of the serving certificate
	CertFile   = "apiserver.crt" // serving certificate of the API server
	KeyFile    = "apiserver.key" // its private key
	SAKeyFile  = "sa.key"        // signs the tokens of service accounts
)

// lifetime of the certificates: longer than any test folder is kept.
const lifetime = 10 * 365 * 24 * time.Hour

// EnsureKeys makes the certificates and keys that are missing. The key of the
// authority is thrown away, so no other certificate can be issued with it.
func (f *Folder) EnsureKeys() error {
	if !f.has(CACertFile, CertFile, KeyFile) {
		if err := f.makeServingCert(); err != nil {
			return fmt.Errorf("serving certificate: %w", err)
		}
	}
	if f.has(SAKeyFile) {
		return nil
	}
	key, err := newKey()
	if err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	return f.writeKey(SAKeyFile, key)
}

func (f *Folder) has(names ...string) bool {
	for _, name := range names {
		if _, err := os.Stat(f.Path(name)); errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

func (f *Folder) makeServingCert() error {
	caKey, err := newKey()
	if err != nil {
		return err
	}
	ca := template(1, "devcluster-ca")
	ca.IsCA, ca.BasicConstraintsValid = true, true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return err
	}

	key, err := newKey()
	if err != nil {
		return err
	}
	leaf := template(2, "kube-apiserver")
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return err
	}
	return errors.Join(
		f.writePEM(CACertFile, "CERTIFICATE", caDER),
		f.writePEM(CertFile, "CERTIFICATE", leafDER),
		f.writeKey(KeyFile, key),
	)
}

// template has a start in the past, so that clocks may differ a little.
func template(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(lifetime),
	}
}

// newKey makes an elliptic-curve key: an RSA key takes a noticeable part of
// the start.
func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func (f *Folder) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return f.writePEM(name, "EC PRIVATE KEY", der)
}

func (f *Folder) writePEM(name, kind string, der []byte) error {
	return f.write(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// write replaces a file in one step: a start that is interrupted leaves no
// half of a key.
func (f *Folder) write(name string, content []byte) error {
	temporary := f.Path(name + ".new")
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, f.Path(name))
}
