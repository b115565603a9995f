package webhooks_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/webhooks"
)

// served is a server that runs in a test.
type served struct {
	configs chan webhooks.ClientConfig
	stop    func() error // returns what Serve has
}

// serve runs a server with a handler that echoes the path.
func serve(t *testing.T, server webhooks.Server, handler http.HandlerFunc) *served {
	t.Helper()
	if handler == nil {
		handler = func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{configs: make(chan webhooks.ClientConfig, 10)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, handler, func(c webhooks.ClientConfig) { s.configs <- c }) }()
	s.stop = func() error {
		cancel()
		err := <-ended
		ended <- err
		return err
	}
	t.Cleanup(func() { _ = s.stop() })
	return s
}

func (s *served) config(t *testing.T) webhooks.ClientConfig {
	t.Helper()
	select {
	case c := <-s.configs:
		return c
	case <-time.After(time.Minute):
		t.Fatalf("nothing was announced; the server: %v", s.stop())
		return webhooks.ClientConfig{}
	}
}

// client trusts only the authorities in a client config.
func client(t *testing.T, config webhooks.ClientConfig, own ...tls.Certificate) *http.Client {
	t.Helper()
	bundle, err := base64.StdEncoding.DecodeString(config.CABundle)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: own, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func get(t *testing.T, client *http.Client, target string) (int, string) {
	t.Helper()
	rsp, err := client.Get(target)
	if err != nil {
		t.Fatal(err)
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(rsp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return rsp.StatusCode, string(text)
}

func TestGeneratedCertificate(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "ca.pem")
	s := serve(t, &webhooks.LocalServer{Addr: "127.0.0.1", Path: "/hooks/", CADump: dump, ExtraSANs: []string{"extra.example.com", "10.1.2.3"}}, nil)
	config := s.config(t)
	if code, text := get(t, client(t, config), strings.TrimRight(*config.URL, "/")+"/some/id"); code != 200 || text != "/some/id" {
		t.Errorf("%d %s", code, text)
	}
	if code, text := get(t, client(t, config), strings.Replace(*config.URL, "/hooks/", "/other", 1)); code != 404 || text != "404: Not Found" {
		t.Errorf("another path: %d %s", code, text)
	}
	dumped, err := os.ReadFile(dump)
	if err != nil || base64.StdEncoding.EncodeToString(dumped) != config.CABundle {
		t.Errorf("cadump is not the bundle: %v", err)
	}
	target, _ := url.Parse(*config.URL)
	connection, err := tls.Dial("tcp", target.Host, client(t, config).Transport.(*http.Transport).TLSClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	leaf := connection.ConnectionState().PeerCertificates[0]
	for _, name := range []string{"127.0.0.1", "extra.example.com", "10.1.2.3"} {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
}

func TestServiceConfig(t *testing.T) {
	s := serve(t, &webhooks.LocalServer{Addr: "127.0.0.1", Path: "hooks", Service: &webhooks.Service{Namespace: "ns", Name: "op", Port: 443}}, nil)
	config := s.config(t)
	config.CABundle = ""
	path := "/hooks"
	want := webhooks.ClientConfig{Service: &webhooks.Service{Namespace: "ns", Name: "op", Port: 443, Path: &path}}
	if diff := cmp.Diff(want, config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	path = "/hooks/some/id"
	if diff := cmp.Diff(want, config.For("some/id")); diff != "" {
		t.Errorf("for a handler (-want +got):\n%s", diff)
	}
}

// TestPlainHTTPOnTheTLSPort: it is refused, and does no harm.
func TestPlainHTTPOnTheTLSPort(t *testing.T) {
	s := serve(t, &webhooks.LocalServer{Addr: "127.0.0.1"}, nil)
	config := s.config(t)
	if code, text := get(t, http.DefaultClient, strings.Replace(*config.URL, "https://", "http://", 1)); code != 400 || !strings.Contains(text, "HTTP request to an HTTPS server") {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := get(t, client(t, config), *config.URL); code != 200 {
		t.Errorf("afterwards: %d", code)
	}
}

func TestInsecureServer(t *testing.T) {
	s := serve(t, &webhooks.LocalServer{Addr: "127.0.0.1", Insecure: true}, nil)
	config := s.config(t)
	if !strings.HasPrefix(*config.URL, "http://127.0.0.1:") || config.CABundle != "" {
		t.Errorf("%+v", config)
	}
	if code, _ := get(t, http.DefaultClient, *config.URL); code != 200 {
		t.Errorf("code %d", code)
	}
}

// TestOddPaths: the prefix of paths is a text, and no pattern of net/http.
func TestOddPaths(t *testing.T) {
	for _, path := range []string{"/a b", "/{", "/{x}/", "x{y}", "/{$}", "/a//b", "/a/../b"} {
		t.Run(path, func(t *testing.T) {
			s := serve(t, &webhooks.LocalServer{Addr: "127.0.0.1", Path: path, Insecure: true}, nil)
			config := s.config(t)
			if code, text := get(t, http.DefaultClient, strings.TrimRight(*config.URL, "/")+"/some/id"); code != 200 || text != "/some/id" {
				t.Errorf("%d %s", code, text)
			}
			if code, text := get(t, http.DefaultClient, strings.TrimRight(*config.URL, "/")+"x/some/id"); code != 404 || text != "404: Not Found" {
				t.Errorf("another path: %d %s", code, text)
			}
		})
	}
}

func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	err = (&webhooks.LocalServer{Addr: "127.0.0.1", Port: port}).Serve(t.Context(), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "the webhook server: listen tcp 127.0.0.1:") || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v", err)
	}
}

// pair makes a certificate, signed by another one or by itself.
func pair(t *testing.T, name string, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(255), Subject: pkix.Name{CommonName: name, Organization: []string{"Org"}},
		NotBefore: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), NotAfter: time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC),
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: parent == nil, BasicConstraintsValid: true,
	}
	issuer, issuerKey := template, any(key)
	if parent != nil {
		issuer, issuerKey = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), issuerKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// write writes certificate and key into files.
func write(t *testing.T, folder string, cert *tls.Certificate) (certFile, keyFile string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	for path, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// TestCertificateFiles: they are read again when they change, and a half-written
// one is not used.
func TestCertificateFiles(t *testing.T) {
	folder := t.TempDir()
	certFile, keyFile := write(t, folder, pair(t, "first", nil))
	s := serve(t, &webhooks.LocalServer{Addr: "127.0.0.1", CertFile: certFile, KeyFile: keyFile, FileCheckInterval: 20 * time.Millisecond}, nil)
	first := s.config(t)
	get(t, client(t, first), *first.URL)
	if err := os.WriteFile(certFile, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	get(t, client(t, first), *first.URL)
	write(t, folder, pair(t, "second", nil))
	second := s.config(t)
	if *second.URL != *first.URL || second.CABundle == first.CABundle {
		t.Errorf("announced %+v after %+v", second, first)
	}
	get(t, client(t, second), *second.URL)
	if rsp, err := client(t, first).Get(*first.URL); err == nil {
		rsp.Body.Close()
		t.Error("the old certificate is still there")
	}
}

// TestUnwritableDump: a new certificate is used and announced, also if the file for people cannot be written.
func TestUnwritableDump(t *testing.T) {
	folder, dump := t.TempDir(), filepath.Join(t.TempDir(), "sub", "ca.pem")
	if err := os.Mkdir(filepath.Dir(dump), 0o700); err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := write(t, folder, pair(t, "first", nil))
	s := serve(t, &webhooks.LocalServer{Addr: "127.0.0.1", CertFile: certFile, KeyFile: keyFile, CADump: dump, FileCheckInterval: 20 * time.Millisecond}, nil)
	s.config(t)
	if err := os.RemoveAll(filepath.Dir(dump)); err != nil {
		t.Fatal(err)
	}
	write(t, folder, pair(t, "second", nil))
	second := s.config(t)
	get(t, client(t, second), *second.URL)
}

func TestBadCertificates(t *testing.T) {
	folder := t.TempDir()
	certFile, keyFile := write(t, folder, pair(t, "x", nil))
	garbage := filepath.Join(folder, "garbage")
	if err := os.WriteFile(garbage, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		server webhooks.LocalServer
		want   string
	}{
		{"no such file", webhooks.LocalServer{CertFile: "/nowhere", KeyFile: keyFile}, "certfile of the webhook server: open /nowhere"},
		{"no key", webhooks.LocalServer{CertFile: certFile}, "certfile and pkeyfile must be set together"},
		{"garbage", webhooks.LocalServer{CertFile: garbage, KeyFile: keyFile}, "failed to find any PEM data"},
		{"a garbage key", webhooks.LocalServer{CertFile: certFile, KeyFile: garbage}, "it has no private key in PEM"},
		{"no such authority", webhooks.LocalServer{CAFile: "/nowhere", CertFile: certFile, KeyFile: keyFile}, "cafile of the webhook server"},
		{"insecure with a certificate", webhooks.LocalServer{Insecure: true, CertFile: certFile, KeyFile: keyFile}, "insecure excludes certificates"},
		{"insecure with required certificates of clients", webhooks.LocalServer{Insecure: true, Verify: webhooks.VerifyRequired, VerifyCAFile: certFile}, "insecure excludes certificates"},
		{"insecure with authorities of clients", webhooks.LocalServer{Insecure: true, VerifyCAFile: certFile}, "insecure excludes certificates"},
		{"garbage of clients", webhooks.LocalServer{VerifyCAFile: garbage}, "authorities of clients: " + garbage + ": it has no certificates in PEM"},
		{"no such folder", webhooks.LocalServer{VerifyCAPath: "/nowhere"}, "verify_capath: open /nowhere"},
		{"an unwritable dump", webhooks.LocalServer{Addr: "127.0.0.1", CADump: "/nowhere/x"}, "cadump of the webhook server"},
		{"required without authorities", webhooks.LocalServer{Verify: webhooks.VerifyRequired}, "verify_mode required: no certificate authorities of clients are set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.server.Serve(t.Context(), nil, func(webhooks.ClientConfig) {})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestClientCertificates: which clients need one, and what handlers know of it.
func TestClientCertificates(t *testing.T) {
	authority := pair(t, "clients", nil)
	known, unknown := pair(t, "apiserver", authority), pair(t, "unknown", nil)
	roots := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate[0]})
	folder := t.TempDir()
	rootsFile := filepath.Join(folder, "roots.pem")
	if err := os.WriteFile(rootsFile, roots, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		server  webhooks.LocalServer
		client  []tls.Certificate
		refused bool
		subject string
	}{
		{"not required", webhooks.LocalServer{}, []tls.Certificate{*known}, false, ""},
		{"by data", webhooks.LocalServer{VerifyCAData: roots}, []tls.Certificate{*known}, false, "apiserver"},
		{"by file", webhooks.LocalServer{VerifyCAFile: rootsFile}, []tls.Certificate{*known}, false, "apiserver"},
		{"by folder", webhooks.LocalServer{VerifyCAPath: folder}, []tls.Certificate{*known}, false, "apiserver"},
		{"optional without", webhooks.LocalServer{VerifyCAData: roots}, nil, false, ""},
		{"required", webhooks.LocalServer{VerifyCAData: roots, Verify: webhooks.VerifyRequired}, []tls.Certificate{*known}, false, "apiserver"},
		{"required without", webhooks.LocalServer{VerifyCAData: roots, Verify: webhooks.VerifyRequired}, nil, true, ""},
		{"of an unknown authority", webhooks.LocalServer{VerifyCAData: roots, Verify: webhooks.VerifyRequired}, []tls.Certificate{*unknown}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.server.Addr = "127.0.0.1"
			o := &fakeOperator{}
			handler := func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, ask(o, webhooks.Limits{}, r).Body.String())
			}
			s := serve(t, &tt.server, handler)
			config := s.config(t)
			with := client(t, config, tt.client...)
			for _, body := range []io.Reader{io.MultiReader(strings.NewReader(review)), strings.NewReader(review)} { // in chunks, which net/http reads
				rsp, err := with.Post(*config.URL+"/check", "application/json", body)
				if (err != nil) != tt.refused {
					t.Fatalf("error %v, refused %t", err, tt.refused)
				}
				if tt.refused {
					return
				}
				rsp.Body.Close()
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			if len(o.seen) != 2 || string(o.seen[0].SSLPeer) != string(o.seen[1].SSLPeer) {
				t.Fatalf("the handler has seen %d reviews: %+v", len(o.seen), o.seen)
			}
			var peer struct {
				Subject, Issuer [][][]string
				SerialNumber    string
				NotBefore       string
				SubjectAltName  [][]string
			}
			if err := json.Unmarshal(o.seen[0].SSLPeer, &peer); err != nil {
				t.Fatal(err)
			}
			if tt.subject == "" {
				if string(o.seen[0].SSLPeer) != "{}" {
					t.Errorf("peer %s", o.seen[0].SSLPeer)
				}
				return
			}
			wantSubject := [][][]string{{{"organizationName", "Org"}}, {{"commonName", "apiserver"}}}
			wantNames := [][]string{{"DNS", "apiserver"}, {"IP Address", "127.0.0.1"}}
			if !cmp.Equal(peer.Subject, wantSubject) || !cmp.Equal(peer.SubjectAltName, wantNames) ||
				peer.NotBefore != "Jan  2 03:04:05 2026 GMT" || peer.SerialNumber != "FF" || peer.Issuer[1][0][1] != "clients" {
				t.Errorf("peer %+v", peer)
			}
		})
	}
}

// TestAuthoritiesOfClientsAreReadAgain: those of API servers change one day. What cannot be read changes nothing.
func TestAuthoritiesOfClientsAreReadAgain(t *testing.T) {
	first, second := pair(t, "first", nil), pair(t, "second", nil)
	old, fresh := pair(t, "old", first), pair(t, "fresh", second)
	file := filepath.Join(t.TempDir(), "roots.pem")
	put := func(text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.Certificate[0]}))
	s := serve(t, &webhooks.LocalServer{Addr: "127.0.0.1", VerifyCAFile: file, Verify: webhooks.VerifyRequired, FileCheckInterval: 20 * time.Millisecond}, nil)
	config := s.config(t)
	accepts := func(own *tls.Certificate) bool {
		rsp, err := client(t, config, *own).Get(*config.URL)
		if err == nil {
			rsp.Body.Close()
		}
		return err == nil
	}
	if !accepts(old) || accepts(fresh) {
		t.Fatal("the first authority does not decide")
	}
	put([]byte("half"))
	time.Sleep(100 * time.Millisecond)
	if !accepts(old) || accepts(fresh) {
		t.Error("half a file decides")
	}
	put(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: second.Certificate[0]}))
	for deadline := time.Now().Add(time.Minute); !accepts(fresh); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the second authority is not read")
		}
	}
	if accepts(old) {
		t.Error("the first authority is still there")
	}
}

// TestLateAnswersOverTLS are whole before the handler ends, however long that takes.
// The server speaks HTTP/1.1, also to clients that could speak HTTP/2.
func TestLateAnswersOverTLS(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	o := &fakeOperator{decide: func(context.Context, *reviews.Incoming) (*reviews.Verdict, error) {
		<-release
		return &reviews.Verdict{}, nil
	}}
	s := serve(t, &webhooks.LocalServer{Addr: "127.0.0.1"}, webhooks.NewHandler(o, webhooks.Limits{}, zerolog.Nop()).ServeHTTP)
	config := s.config(t)
	rsp, err := client(t, config).Post(*config.URL+"/check?timeout=500ms", "application/json", strings.NewReader(review))
	if err != nil {
		t.Fatal(err)
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(rsp.Body)
	if err != nil || rsp.ProtoMajor != 1 || !strings.Contains(string(text), "the handlers took longer than 450ms") {
		t.Errorf("%s %q: %v", rsp.Proto, text, err)
	}
}

// TestGracefulShutdown: requests under way are finished.
func TestGracefulShutdown(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	s := serve(t, &webhooks.LocalServer{Addr: "127.0.0.1"}, func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	config := s.config(t)
	c := client(t, config)
	answers := make(chan string, 1)
	go func() {
		rsp, err := c.Get(*config.URL)
		if err != nil {
			answers <- err.Error()
			return
		}
		defer rsp.Body.Close()
		text, _ := io.ReadAll(rsp.Body)
		answers <- string(text)
	}()
	<-asked
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	time.Sleep(50 * time.Millisecond)
	close(release)
	if got := <-answers; got != "done" {
		t.Errorf("the answer is %q", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("the server has ended with %v", err)
	}
}
