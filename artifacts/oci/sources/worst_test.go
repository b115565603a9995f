package sources

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// authority makes a certificate in PEM.
func authority(t *testing.T, change func(*x509.Certificate)) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// names adds parts to the subject of a certificate.
func names(count int) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		for range count {
			c.Subject.ExtraNames = append(c.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: ""})
		}
	}
}

// TestWorstAuthorities: certificates with many parts of a name cost most, 40 times their size.
func TestWorstAuthorities(t *testing.T) {
	small := authority(t, func(*x509.Certificate) {})
	addresses := func(c *x509.Certificate) {
		for range 2000 {
			c.IPAddresses = append(c.IPAddresses, net.IPv6loopback)
		}
	}
	fill := func(part string) string { return strings.Repeat(part, maxFile/len(part)) }
	for name, text := range map[string]string{
		"small ones":        fill(small),
		"1,000 of them":     strings.Repeat(small, maxCertificates),
		"parts of names":    fill(authority(t, names(2000))),
		"addresses":         fill(authority(t, addresses)),
		"names":             fill(authority(t, func(c *x509.Certificate) { c.DNSNames = strings.Split(strings.Repeat("a ", 2000)+"a", " ") })),
		"a large one":       authority(t, names(200_000)),
		"beginnings":        fill("-----BEGIN CERTIFICATE-----\n"),
		"beginnings of one": fill("-----BEGIN A-----\n") + small,
		"empty ones":        fill("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"),
		"no PEM":            fill("\x30\x83\x3f\xff\xfb"),
	} {
		boundedtest.Parse(t, name, []byte(text), func(text []byte) error {
			found, err := certificates(text)
			if len(found) > maxCertificates {
				t.Errorf("%s: %d certificates", name, len(found))
			}
			return err
		})
	}
}
