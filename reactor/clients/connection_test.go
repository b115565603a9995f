package clients_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// guarded is a server that accepts one token at a time.
type guarded struct {
	mu       sync.Mutex // guards the fields below
	accepted string     // the accepted value of the header
	seen     []string
}

func (g *guarded) accept(header string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.accepted = header
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = append(g.seen, r.Header.Get("Authorization"))
	if r.Header.Get("Authorization") != g.accepted {
		status(http.StatusUnauthorized)(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, `{"path":%q,"body":%q}`, r.URL.Path, body)
}

// connect makes a client whose logins return the given credentials one after another.
func connect(t *testing.T, infos ...credentials.Info) (*clients.Client, *guarded) {
	t.Helper()
	g := &guarded{}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	for _, info := range infos {
		info.Config.Host = server.URL + "/prefix"
	}
	vault := credentials.New(func(context.Context, bool) (map[string]credentials.Info, error) {
		if len(infos) == 0 {
			return nil, errors.New("no more logins")
		}
		next := infos[0]
		infos = infos[1:]
		return map[string]credentials.Info{"login": next}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = vault.Run(ctx) }) // requests return its error
	t.Cleanup(func() { cancel(); running.Wait() })
	options := func() clients.Options { return clients.Options{RequestTimeout: time.Minute} }
	return clients.New(vault, options, func(string) {}), g
}

func token(text string) credentials.Info {
	return credentials.Info{Config: &rest.Config{BearerToken: text}}
}

// TestRefusedRequestsAreRepeated checks that a refused request is repeated as a whole with
// the next credentials.
func TestRefusedRequestsAreRepeated(t *testing.T) {
	custom := credentials.Info{Config: &rest.Config{}, Authorization: "Custom c"}
	client, server := connect(t, token("a"), custom)
	server.accept("Bearer a")
	for _, next := range []string{"Bearer a", "Custom c"} {
		server.accept(next)
		got, err := client.Patch(t.Context(), "/x", clients.MergePatch, []byte("{}"))
		if want := `{"path":"/prefix/x","body":"{}"}`; err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", next, got, err, want)
		}
	}
	if len(server.seen) != 3 {
		t.Errorf("the server has seen %q, want one refusal", server.seen)
	}
}

// TestDiscoveryLogsInAgain checks that discovery logs in again, as other requests do.
func TestDiscoveryLogsInAgain(t *testing.T) {
	client, server := connect(t, token("a"), token("b"))
	server.accept("Bearer b")
	if _, body, err := client.Discover(t.Context(), "/api", "application/json"); err != nil || len(body) == 0 {
		t.Errorf("%s, %v", body, err)
	}
	if server.seen[0] != "Bearer a" || server.seen[1] != "Bearer b" {
		t.Errorf("the server has seen %q", server.seen)
	}
}

// A server below a path, as behind a proxy, gets the segments of a path in their escaped
// form.
func TestServersBelowAPathGetEscapedSegments(t *testing.T) {
	uris := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { uris <- r.RequestURI }))
	defer server.Close()
	vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL + "/clusters/a%20b/"}})
	client := clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})
	path, err := apipath.Of(apipath.Target{Version: "v1", Plural: "ks", Name: "a?b c"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(t.Context(), path, url.Values{"q": {"x&y"}}); err != nil {
		t.Error(err)
	}
	if got, want := <-uris, "/clusters/a%20b/api/v1/ks/a%3Fb%20c?q=x%26y"; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
}

func TestDepletedCredentialsFailRequests(t *testing.T) {
	client, server := connect(t, token("a"))
	server.accept("nothing")
	if _, err := client.Get(t.Context(), "/x", nil); err == nil || err.Error() != "no more logins" {
		t.Errorf("got %v, want the error of the login", err)
	}
	if len(server.seen) != 1 {
		t.Errorf("the server has seen %q", server.seen)
	}
}

// TestTokensOfFilesAreReadAgain checks that a refused token is read from its file again.
func TestTokensOfFilesAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	file := func() credentials.Info { return credentials.Info{Config: &rest.Config{BearerTokenFile: path}} }
	client, server := connect(t, file(), file())
	for _, next := range []string{"a", "b"} {
		write(next)
		server.accept("Bearer " + next)
		if _, err := client.Get(t.Context(), "/x", nil); err != nil {
			t.Errorf("token %s: %v", next, err)
		}
	}
}

// TestLastingCredentialsAreUsedAgain: an API server that does not reach its etcd refuses everybody for a moment.
func TestLastingCredentialsAreUsedAgain(t *testing.T) {
	var refuses atomic.Bool
	refuses.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuses.Load() {
			status(http.StatusUnauthorized)(w)
			return
		}
		ok(w)
	}))
	defer server.Close()
	vault := credentials.Lasting(credentials.Info{Config: &rest.Config{Host: server.URL}})
	client := clients.New(vault, func() clients.Options { return clients.Options{RequestTimeout: time.Minute} }, func(string) {})
	_, err := client.Get(t.Context(), "/x", nil)
	if code, _ := clients.Code(err); code != http.StatusUnauthorized {
		t.Errorf("error %v", err)
	}
	refuses.Store(false)
	if _, err := client.Get(t.Context(), "/x", nil); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// TestStreamsEndWithTheirCredentials checks that a watch does not outlive a revoked token.
func TestStreamsEndWithTheirCredentials(t *testing.T) {
	first, second := token("a"), token("b")
	refuse := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-refuse:
			if r.Header.Get("Authorization") == "Bearer a" {
				status(http.StatusUnauthorized)(w)
				return
			}
			ok(w)
		default:
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	first.Config.Host, second.Config.Host = server.URL, server.URL
	second.Priority = -1
	vault := credentials.New(func(context.Context, bool) (map[string]credentials.Info, error) {
		return map[string]credentials.Info{"a": first, "b": second}, nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	go func() { _ = vault.Run(ctx) }() // it ends with the context
	client := clients.New(vault, func() clients.Options { return clients.Options{RequestTimeout: time.Minute} }, func(string) {})
	stream, err := client.Stream(ctx, "/x", nil, clients.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	close(refuse)
	if _, err := client.Get(ctx, "/x", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(stream); err == nil || ctx.Err() != nil {
		t.Errorf("the stream has not ended with its credentials: %v", err)
	}
}

// TestRedirectsToOtherServersAreRefused: the transports would send the token there, too. One to the same server is followed.
func TestRedirectsToOtherServersAreRefused(t *testing.T) {
	var leaked atomic.Value
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked.Store(r.Header.Get("Authorization")) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/apis/elsewhere":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/apis/here":
			http.Redirect(w, r, "/apis/there", http.StatusFound)
		default:
			fmt.Fprint(w, `{}`)
		}
	}))
	t.Cleanup(server.Close)
	vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL, BearerToken: "secret"}})
	c := clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})
	if _, err := c.Get(t.Context(), "/apis/elsewhere", nil); err == nil || leaked.Load() != nil {
		t.Errorf("another server got %v, error %v", leaked.Load(), err)
	}
	if text, err := c.Get(t.Context(), "/apis/here", nil); err != nil || string(text) != "{}" {
		t.Errorf("%q, error %v", text, err)
	}
}
