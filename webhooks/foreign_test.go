package webhooks

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/webhooks/certificates"
)

// Limits of the memory for each byte of a certificate: of reading and of showing it.
const (
	perByteOfCertificate = 100
	allocatedElse        = 1 << 20
)

// signed makes a certificate of a client.
func signed(tb testing.TB, change func(*x509.Certificate)) *x509.Certificate {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return cert
}

// worstCertificates are those that were found to cost most for their length.
func worstCertificates(tb testing.TB, many int) map[string]*x509.Certificate {
	return map[string]*x509.Certificate{
		"many DNS names": signed(tb, func(c *x509.Certificate) { c.DNSNames = strings.Split(strings.Repeat("a ", many)+"a", " ") }),
		"many addresses": signed(tb, func(c *x509.Certificate) {
			for range many {
				c.IPAddresses = append(c.IPAddresses, net.IPv6loopback)
			}
		}),
		"many URIs": signed(tb, func(c *x509.Certificate) {
			for range many {
				c.URIs = append(c.URIs, &url.URL{Scheme: "a", Host: "b"})
			}
		}),
		"many mails": signed(tb, func(c *x509.Certificate) { c.EmailAddresses = strings.Split(strings.Repeat("a@b ", many)+"a@b", " ") }),
		"many parts of a name": signed(tb, func(c *x509.Certificate) {
			for range many {
				c.Subject.ExtraNames = append(c.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: ""})
			}
		}),
		"a long name": signed(tb, func(c *x509.Certificate) { c.Subject.CommonName = strings.Repeat("\x00", many*10) }),
		"a long type": signed(tb, func(c *x509.Certificate) {
			oid := asn1.ObjectIdentifier{1, 2}
			for range many {
				oid = append(oid, 1)
			}
			c.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: oid, Value: "x"}}
		}),
	}
}

// TestWorstClientCertificates: reading one, and showing it to handlers, takes memory that
// its length bounds.
func TestWorstClientCertificates(t *testing.T) {
	for name, cert := range worstCertificates(t, 5000) {
		t.Run(name, func(t *testing.T) {
			took := boundedtest.Allocated(func() {
				again, err := x509.ParseCertificate(cert.Raw)
				if err != nil {
					t.Error(err)
					return
				}
				dicts.Encode(describePeer(again))
			})
			if most := perByteOfCertificate*len(cert.Raw) + allocatedElse; took > most {
				t.Errorf("%d bytes are allocated for %d; want at most %d", took, len(cert.Raw), most)
			}
		})
	}
}

// FuzzClientCertificates: the same, whatever a certificate is like.
func FuzzClientCertificates(f *testing.F) {
	for _, cert := range worstCertificates(f, 3) {
		f.Add(cert.Raw)
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		took := boundedtest.Allocated(func() {
			if cert, err := x509.ParseCertificate(der); err == nil {
				dicts.Encode(describePeer(cert))
			}
		})
		if took > perByteOfCertificate*len(der)+allocatedElse {
			t.Errorf("%d bytes are allocated for %d", took, len(der))
		}
	})
}

// TestHugeChainsOfClients end the handshake, and the server serves others.
func TestHugeChainsOfClients(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	roots := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	address := serveOnce(t, &LocalServer{VerifyCAData: roots}, http.NotFoundHandler())
	for count, refused := range map[int]bool{1: false, 100: false, 5000: true} {
		chain := tls.Certificate{PrivateKey: key}
		for range count {
			chain.Certificate = append(chain.Certificate, der)
		}
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{chain}}} //nolint:gosec // not what is tested
		client := &http.Client{Timeout: time.Minute, Transport: transport}
		took := boundedtest.Allocated(func() {
			var rsp *http.Response
			if rsp, err = client.Get("https://" + address); err == nil {
				rsp.Body.Close()
			}
		})
		transport.CloseIdleConnections()
		if (err != nil) != refused {
			t.Errorf("a chain of %d certificates: %v; refused: %t", count, err, refused)
		}
		if most := perByteOfCertificate*len(der)*count + allocatedElse; took > most {
			t.Errorf("a chain of %d certificates of %d bytes: %d bytes are allocated", count, len(der), took)
		}
	}
}

// TestOutputOfTunnelsIsBounded: the output of a program is bounded in memory and in errors, and only a
// plain URL is announced.
func TestOutputOfTunnelsIsBounded(t *testing.T) {
	output := strings.Join([]string{
		`{"msg":"started tunnel","url":"http://plain.example"}`,
		`{"msg":"started tunnel","url":"https://"}`,
		`{"msg":"started tunnel","url":"https://user:secret@x.example"}`,
		`{"msg":"started tunnel","url":"https://x.example/?a=b"}`,
		`{"msg":"started tunnel","url":"https://` + strings.Repeat("x", 2000) + `.example"}`,
		`{"msg":"started tunnel","url":"https://x .example"}`,
		`{"msg":"started tunnel","url":"https://good.example/"}`,
		strings.Repeat("long ", 5000),
	}, "\n")
	var announced []string
	tunnel := &NgrokTunnel{}
	known, last := tunnel.follow(&exec.Cmd{}, strings.NewReader(output), func(c ClientConfig) { announced = append(announced, *c.URL) })
	if !known || strings.Join(announced, " ") != "https://good.example" || len(last) > maxQuoted+3 {
		t.Errorf("announced %q, and the last line has %d bytes", announced, len(last))
	}
	took := boundedtest.Allocated(func() {
		tunnel.follow(&exec.Cmd{}, strings.NewReader(strings.Repeat("no end", 10<<20)), func(ClientConfig) {})
	})
	if took > 64<<20 { // the text itself has 60 MiB
		t.Errorf("%d bytes are allocated", took)
	}
}

// TestManyNames of a generated certificate are refused: guests may be allowed to choose them.
func TestManyNames(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"server","extra_sans":["a"]}`:                                                   "",
		`{"type":"server","extra_sans":["a"` + strings.Repeat(`,"b"`, 100_000) + `]}`:            "extra_sans: 100001 names; at most 100 are possible",
		`{"type":"server","extra_sans":["` + strings.Repeat("a", 1<<20) + `"]}`:                  "has 1048576 bytes; a name has at most 253",
		`{"type":"server","verify_cadata":"` + strings.Repeat("a", certificates.MaxText) + `x"}`: "",
	} {
		_, err := ParseServer([]byte(text), true)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%.60s…: %.300v, want %q", text, err, want)
		}
	}
}

// TestOptionalWithoutAuthorities: no certificate of a client is verified by the authorities of the system.
func TestOptionalWithoutAuthorities(t *testing.T) {
	config, err := (&LocalServer{Verify: VerifyOptional}).tlsConfig()
	if err != nil {
		t.Fatal(err)
	}
	if config.ClientAuth != tls.VerifyClientCertIfGiven || config.ClientCAs == nil {
		t.Errorf("%v by %v", config.ClientAuth, config.ClientCAs)
	}
}
