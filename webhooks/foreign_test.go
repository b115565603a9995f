package webhooks

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
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
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/youmark/pkcs8"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// allocated is how much memory a function allocates, in bytes.
func allocated(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

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
			took := allocated(func() {
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
		took := allocated(func() {
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
		took := allocated(func() {
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

// TestEditedSecrets: a secret that others have edited is refused before it costs much.
func TestEditedSecrets(t *testing.T) {
	made, err := defaultSchedule.next(nil, []string{"x"}, time.Now())
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
			took := allocated(func() { _, err = decodeBundle(data) })
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
	took := allocated(func() {
		tunnel.follow(&exec.Cmd{}, strings.NewReader(strings.Repeat("no end", 10<<20)), func(ClientConfig) {})
	})
	if took > 64<<20 { // the text itself has 60 MiB
		t.Errorf("%d bytes are allocated", took)
	}
}

// TestManyNames of a generated certificate are refused: guests may be allowed to choose them.
func TestManyNames(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"server","extra_sans":["a"]}`:                                              "",
		`{"type":"server","extra_sans":["a"` + strings.Repeat(`,"b"`, 100_000) + `]}`:       "extra_sans: 100001 names; at most 100 are possible",
		`{"type":"server","extra_sans":["` + strings.Repeat("a", 1<<20) + `"]}`:             "has 1048576 bytes; a name has at most 253",
		`{"type":"server","verify_cadata":"` + strings.Repeat("a", maxCertificates) + `x"}`: "",
	} {
		_, err := ParseServer([]byte(text), true)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%.60s…: %.300v, want %q", text, err, want)
		}
	}
	if _, err := parseCertificates(make([]byte, maxCertificates+1)); err == nil || !strings.Contains(err.Error(), "certificates have at most") {
		t.Errorf("error %v", err)
	}
}
