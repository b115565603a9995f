package certificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// authority is a certificate authority that signs certificates of servers.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// backdating keeps certificates valid on machines whose clocks are late.
const backdating = 5 * time.Minute

// newAuthority creates an authority that is valid from now on.
func newAuthority(now time.Time, lifetime time.Duration) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a key: %w", err)
	}
	template, err := newTemplate("kopf webhooks", now, lifetime)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("generating a certificate authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert, key}, nil
}

// issue signs a certificate for the names and addresses of a server. The certificate does
// not outlive the authority.
func (a *authority) issue(names []string, now time.Time, lifetime time.Duration) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a key: %w", err)
	}
	dnsNames, addresses := splitNames(names)
	template, err := newTemplate(commonName(dnsNames, addresses), now, lifetime)
	if err != nil {
		return nil, err
	}
	if template.NotAfter.After(a.cert.NotAfter) {
		template.NotAfter = a.cert.NotAfter
	}
	template.DNSNames, template.IPAddresses = dnsNames, addresses
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("generating a certificate for %v: %w", names, err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func newTemplate(name string, now time.Time, lifetime time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("generating a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-backdating), NotAfter: now.Add(lifetime),
	}, nil
}

// splitNames splits names into host names and addresses, without duplicates. It omits
// addresses that clients cannot connect to, such as 0.0.0.0.
func splitNames(names []string) (dnsNames []string, addresses []net.IP) {
	for _, name := range names {
		ip := net.ParseIP(name)
		switch {
		case name == "" || ip != nil && ip.IsUnspecified():
		case ip != nil:
			if !slices.ContainsFunc(addresses, ip.Equal) {
				addresses = append(addresses, ip)
			}
		case !slices.Contains(dnsNames, name):
			dnsNames = append(dnsNames, name)
		}
	}
	return dnsNames, addresses
}

// commonName is informational: clients check the alternative names. It has at most 64
// characters.
func commonName(dnsNames []string, addresses []net.IP) string {
	name := "kopf"
	switch {
	case len(dnsNames) > 0:
		name = dnsNames[0]
	case len(addresses) > 0:
		name = addresses[0].String()
	}
	return name[:min(len(name), 64)]
}

// pemOf encodes certificates in PEM.
func pemOf(certs ...*x509.Certificate) []byte {
	var text []byte
	for _, cert := range certs {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	return text
}

// pemOfKey encodes a private key in PEM.
func pemOfKey(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// MaxText bounds a text with certificates, in bytes. The authorities of a typical
// system need a twentieth of it.
const MaxText = 4 << 20

// Parse parses all certificates of a PEM text.
func Parse(text []byte) ([]*x509.Certificate, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("it has %d bytes; certificates have at most %d", len(text), MaxText)
	}
	var certs []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
	}
	if certs == nil {
		return nil, errors.New("it has no certificates in PEM")
	}
	return certs, nil
}
