package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// fault is what a proxy does to the traffic instead of passing it on.
type fault string

const (
	none      fault = ""
	halfOpen  fault = "half-open" // connections stay open, and nothing comes through
	delayed   fault = "delayed"   // everything comes late
	cut       fault = "cut"       // connections break in the middle of a line
	failing   fault = "500"       // an error of the server
	busy      fault = "429"       // with Retry-After
	unknown   fault = "401"       // for all clients
	forbidden fault = "403"       // as in upgrades of the control plane
	expired   fault = "410"       // to watches: their versions are too old
	truncated fault = "truncated" // answers end too early, in order
	garbage   fault = "garbage"   // answers are no JSON
	refusing  fault = "refused"   // connections are closed at once
)

// proxy stands between operators and the API server, whose administrator it is.
type proxy struct {
	server    *url.URL
	transport http.RoundTripper
	address   string

	mu      sync.Mutex // guards all below
	fault   fault
	patches map[string][]*sentPatch // that operators have sent, by the names of objects
}

// sentPatch is a patch that an operator has sent.
type sentPatch struct {
	body    string
	sent    time.Time
	reached time.Time // when the server had answered it; zero: it has not reached the server
	code    int       // of the server's answer, even if the operator does not see it
}

func newProxy(t *testing.T, config *rest.Config) *proxy {
	t.Helper()
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: server, transport: transport, patches: map[string][]*sentPatch{}}
	listener := httptest.NewUnstartedServer(p)
	listener.Config.ErrorLog = log.New(io.Discard, "", 0) // broken connections are what it is for
	listener.StartTLS()                                   // or else no tokens are sent
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	p.address = listener.URL
	return p
}

// kubeconfig writes one that leads to the proxy, with a token in a file, that is replaced
// by another one all the time: so there are always credentials that were not refused yet.
func (p *proxy) kubeconfig(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	path, token := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "token")
	write := func(path, text string) {
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Error(err)
		}
	}
	write(token, "0")
	write(path, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: x, clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}],
  users: [{name: u, user: {tokenFile: token}}], contexts: [{name: x, context: {cluster: c, user: u}}]}`, p.address))
	ctx, cancel := context.WithCancel(t.Context())
	var rotating sync.WaitGroup
	rotating.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			time.Sleep(200 * time.Millisecond)
			write(token, fmt.Sprint(n))
		}
	})
	t.Cleanup(func() { cancel(); rotating.Wait() })
	return path
}

func (p *proxy) inject(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

func (p *proxy) present() fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// noted keeps a patch that arrives; nil: the request is something else.
func (p *proxy) noted(r *http.Request, body []byte) *sentPatch {
	if r.Method != http.MethodPatch {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	patch := &sentPatch{body: string(body), sent: time.Now()}
	p.patches[name] = append(p.patches[name], patch)
	return patch
}

// answered notes what the server says to a patch.
func (p *proxy) answered(patch *sentPatch, code int) {
	if patch == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	patch.reached, patch.code = time.Now(), code
}

// accepted is how many patches of an object the server has accepted.
func (p *proxy) accepted(name string) int {
	count := 0
	for _, patch := range p.sentFor(name) {
		if patch.code != 0 && patch.code < 300 {
			count++
		}
	}
	return count
}

// sentFor are the patches of an object so far.
func (p *proxy) sentFor(name string) []sentPatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	var patches []sentPatch
	for _, patch := range p.patches[name] {
		patches = append(patches, *patch)
	}
	return patches
}

// ServeHTTP passes a request on, unless there is a fault.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	patch := p.noted(r, body)
	if p.refuse(w, r) {
		return
	}
	ctx := r.Context()
	if r.Method == http.MethodPatch {
		ctx = context.WithoutCancel(ctx) // the client may have ended, but what the server does counts
	}
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = p.server.Scheme, p.server.Host, "", ""
	out.Header.Del("Authorization") // the proxy is the administrator
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	rsp, err := p.transport.RoundTrip(out)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer rsp.Body.Close()
	p.answered(patch, rsp.StatusCode)
	for name, values := range rsp.Header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(rsp.StatusCode)
	p.pass(w, r, rsp.Body)
}

// refuse answers instead of the server, if that is the fault.
func (p *proxy) refuse(w http.ResponseWriter, r *http.Request) bool {
	answer := func(code int, reason string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"injected"}`, code, reason)
	}
	switch p.present() {
	case halfOpen:
		<-r.Context().Done()
	case delayed:
		time.Sleep(300 * time.Millisecond)
		return false
	case failing:
		answer(http.StatusInternalServerError, "InternalError")
	case busy:
		w.Header().Set("Retry-After", "1")
		answer(http.StatusTooManyRequests, "TooManyRequests")
	case unknown:
		answer(http.StatusUnauthorized, "Unauthorized")
	case forbidden:
		answer(http.StatusForbidden, "Forbidden")
	case expired:
		if r.URL.Query().Get("watch") == "" {
			return false
		}
		answer(http.StatusGone, "Expired")
	case garbage:
		_, _ = w.Write([]byte("\x00\xff{]garbage\n"))
	case refusing:
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}

// pass copies an answer as far as the faults let it.
func (p *proxy) pass(w http.ResponseWriter, r *http.Request, body io.Reader) {
	buffer := make([]byte, 32<<10)
	_ = http.NewResponseController(w).Flush() // the client may have disconnected
	for {
		n, err := body.Read(buffer)
		switch half := n / 2; p.present() {
		case halfOpen:
			<-r.Context().Done()
			return
		case delayed:
			time.Sleep(300 * time.Millisecond)
		case cut, failing, busy, unknown, forbidden, refusing:
			_, _ = w.Write(buffer[:half])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case expired:
			if r.URL.Query().Get("watch") != "" {
				panic(http.ErrAbortHandler)
			}
		case truncated:
			_, _ = w.Write(buffer[:half])
			return
		case garbage:
			_, _ = w.Write([]byte("\x00\xff{]garbage\n"))
			return
		}
		if _, failure := w.Write(buffer[:n]); err != nil || failure != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}
