package identity_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/identity"
)

var account = hosting.Account{Namespace: "team", Name: "mailer"}

// server is an API server that gives tokens and keeps who has asked what.
type server struct {
	*httptest.Server
	subject string
	late    time.Duration // how late the clock of the server is
	sent    atomic.Int64  // bytes of floods
	mu      sync.Mutex    // guards all below
	seen    []string      // "METHOD path authorization impersonated certificates"
	from    map[string]bool
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{subject: account.String(), from: map[string]bool{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert} //nolint:gosec // a test
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, fmt.Sprintf("%s %s %s %s %d", r.Method, r.URL.Path, r.Header.Get("Authorization"), strings.Join(r.Header["Impersonate-User"], "+"), len(r.TLS.PeerCertificates)))
	s.from[r.RemoteAddr] = true
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/absent/token") || strings.HasSuffix(r.URL.Path, "/absent"):
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"not found"}`))
	case strings.HasSuffix(r.URL.Path, "/token"):
		claims := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"` + s.subject + `"}`))
		_ = json.NewEncoder(w).Encode(map[string]any{"spec": map[string]any{"expirationSeconds": 3600}, "status": map[string]any{"token": "head." + claims + ".signature", "expirationTimestamp": time.Now().Add(time.Hour - s.late).UTC().Format(time.RFC3339)}})
	case r.URL.Path == "/flood":
		for r.Context().Err() == nil {
			n, _ := w.Write(make([]byte, 16<<10)) // the end of the request ends it
			s.sent.Add(int64(n))
		}
	default:
		_, _ = w.Write([]byte(`{"data":{"key":"dmFsdWU="}}`))
	}
}

func (s *server) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[len(s.seen)-1]
}

// config is that of the host, which logs in by a token and by a certificate.
func (s *server) config(t *testing.T) *rest.Config {
	t.Helper()
	own := s.TLS.Certificates[0]
	key, err := pkcs8(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &rest.Config{Host: s.URL, BearerToken: "of-the-host", TLSClientConfig: rest.TLSClientConfig{CAData: certificate, CertData: certificate, KeyData: key}}
}

// answered makes a request as an account, and returns the response, which the caller closes.
func answered(t *testing.T, i *identity.Identities, url string, header http.Header) *http.Response {
	t.Helper()
	info, err := i.Login(account)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(info.Config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// requested makes a request as an account, and returns what the server has seen of it.
func requested(t *testing.T, i *identity.Identities, s *server, header http.Header) string {
	t.Helper()
	if err := answered(t, i, s.URL+"/x", header).Body.Close(); err != nil {
		t.Fatal(err)
	}
	return s.last()
}

// pkcs8 encodes a private key in PEM.
func pkcs8(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// TestTokensCarryNothingOfTheHost: neither its token nor its certificate, which the API
// server would prefer to a token.
func TestTokensCarryNothingOfTheHost(t *testing.T) {
	s := newServer(t)
	i, err := identity.New(s.config(t), identity.Token)
	if err != nil {
		t.Fatal(err)
	}
	got := requested(t, i, s, http.Header{})
	if !strings.HasPrefix(got, "GET /x Bearer head.") || !strings.HasSuffix(got, " 0") {
		t.Errorf("the operator has sent %q", got)
	}
	if first := s.seen[0]; first != "POST /api/v1/namespaces/team/serviceaccounts/mailer/token Bearer of-the-host  1" {
		t.Errorf("the host has sent %q", first)
	}
	info, err := i.Login(account)(t.Context())
	if left := time.Until(info.Expiration); err != nil || left < 40*time.Minute || left > 50*time.Minute {
		t.Errorf("the token is used for %v, %v", left, err)
	}
	secret, err := i.Secret(t.Context(), account, "name")
	if err != nil || string(secret["key"]) != "value" || !strings.HasPrefix(s.last(), "GET /api/v1/namespaces/team/secrets/name Bearer head.") {
		t.Errorf("the secret is %v, %v, read by %q", secret, err, s.last())
	}
}

// TestImpersonationCannotBeChanged: the user is the account, whatever a request says.
func TestImpersonationCannotBeChanged(t *testing.T) {
	s := newServer(t)
	i, err := identity.New(s.config(t), identity.Impersonate)
	if err != nil {
		t.Fatal(err)
	}
	got := requested(t, i, s, http.Header{"Impersonate-User": {"admin"}, "Impersonate-Group": {"system:masters"}})
	if got != "GET /x Bearer of-the-host system:serviceaccount:team:mailer 1" {
		t.Errorf("the operator has sent %q", got)
	}
}

// TestOperatorsShareConnections: many accounts need no more connections than one.
func TestOperatorsShareConnections(t *testing.T) {
	for _, mode := range identity.Modes() {
		s := newServer(t)
		i, err := identity.New(s.config(t), mode)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			requested(t, i, s, http.Header{})
		}
		if len(s.from) > 2 {
			t.Errorf("%s: %d connections", mode, len(s.from))
		}
	}
}

// TestUnreadResponsesAreBounded: a response that an operator does not read takes little memory of the host, however much the server sends.
func TestUnreadResponsesAreBounded(t *testing.T) {
	for _, mode := range identity.Modes() {
		s := newServer(t)
		i, err := identity.New(s.config(t), mode)
		if err != nil {
			t.Fatal(err)
		}
		answer := answered(t, i, s.URL+"/flood", http.Header{})
		for deadline := time.Now().Add(time.Minute); s.sent.Load() < 100<<10 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		}
		time.Sleep(500 * time.Millisecond) // the server sends what it can
		sent := s.sent.Load()
		if sent < 100<<10 || sent > 1<<20 {
			t.Errorf("%s: %d bytes are on their way", mode, sent)
		}
		if _, err := io.CopyN(io.Discard, answer.Body, 8<<20); err != nil { // and continues when they are read
			t.Error(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestUnusableAccounts: the error says what is missing.
func TestUnusableAccounts(t *testing.T) {
	s := newServer(t)
	for _, mode := range identity.Modes() {
		i, err := identity.New(s.config(t), mode)
		if err != nil {
			t.Fatal(err)
		}
		_, err = i.Login(hosting.Account{Namespace: "team", Name: "absent"})(t.Context())
		var refusal *hosting.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != "ServiceAccountMissing" || !strings.Contains(err.Error(), "the service account team/absent does not exist") {
			t.Errorf("%s: %v", mode, err)
		}
		for _, a := range []hosting.Account{{}, {Namespace: "team"}, {Namespace: "team", Name: "../kube-system"}, {Namespace: "a/b", Name: "c"}} {
			if _, err := i.Login(a)(t.Context()); err == nil {
				t.Errorf("%s: %+v is used", mode, a)
			}
		}
	}
	s.subject = "system:serviceaccount:kube-system:admin"
	i, err := identity.New(s.config(t), identity.Token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Login(account)(t.Context()); err == nil || !strings.Contains(err.Error(), "a token of \"system:serviceaccount:kube-system:admin\"") {
		t.Errorf("a token of another account is used: %v", err)
	}
	if _, err := identity.New(s.config(t), "magic"); err == nil {
		t.Error("an unknown mode is accepted")
	}
}

// TestClocksDiffer: a token has the life that the API server says, whatever the clock of the host says. A host whose clock is early
// would otherwise ask for a token before each request.
func TestClocksDiffer(t *testing.T) {
	s := newServer(t)
	i, err := identity.New(s.config(t), identity.Token)
	if err != nil {
		t.Fatal(err)
	}
	for _, s.late = range []time.Duration{2 * time.Hour, -2 * time.Hour} {
		info, err := i.Login(account)(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Until(info.Expiration); left < 40*time.Minute || left > 50*time.Minute {
			t.Errorf("a server that is %v late: the token is used for %v", s.late, left)
		}
	}
}
