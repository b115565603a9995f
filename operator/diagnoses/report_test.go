package diagnoses

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/operator/deployment"
	"github.com/kopf-wasm/kopf/operator/toolchains"
)

// kubernetes is an API server that answers what the checks ask.
func kubernetes(t *testing.T, clock time.Duration, allowed bool) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(clock).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"gitVersion": "v1.36.3"}`)
		case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
			fmt.Fprintf(w, `{"status": {"allowed": %v}}`, allowed)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	configure(t, server.URL)
}

func configure(t *testing.T, server string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}],
clusters: [{name: x, cluster: {server: "` + server + `"}}], users: [{name: x, user: {token: x}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
}

// expect fails unless there is a finding of this level with this text.
func expect(t *testing.T, found []Finding, about, name string, level Level, text string) {
	t.Helper()
	for _, f := range found {
		if f.About == about && f.Name == name {
			if f.Level != level || !strings.Contains(f.Text, text) {
				t.Errorf("%s %s is %s: %s, want %s: %s", about, name, f.Level, f.Text, level, text)
			}
			return
		}
	}
	t.Errorf("nothing is found about %s %s: %v", about, name, found)
}

func TestClusterAnswersWithItsVersion(t *testing.T) {
	kubernetes(t, 0, true)
	found, account := Cluster(t.Context(), nil)
	expect(t, found, "cluster", "server", OK, "Kubernetes v1.36.3")
	expect(t, found, "clock", "difference", OK, "to the API server")
	if account == nil {
		t.Error("there are no credentials")
	}
}

func TestClocksThatDifferAreFound(t *testing.T) {
	for difference, level := range map[time.Duration]Level{time.Minute: Warning, -time.Minute: Warning, -time.Hour: Problem} {
		kubernetes(t, difference, true)
		found, _ := Cluster(t.Context(), nil)
		expect(t, found, "clock", "difference", level, "synchronize both clocks")
	}
}

func TestClustersThatDoNotAnswerAreProblems(t *testing.T) {
	configure(t, "http://127.0.0.1:1")
	found, account := Cluster(t.Context(), nil)
	expect(t, found, "cluster", "server", Problem, "http://127.0.0.1:1 does not answer")
	if account != nil {
		t.Error("the credentials are used")
	}

	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer other.Close()
	configure(t, other.URL)
	found, _ = Cluster(t.Context(), nil)
	expect(t, found, "cluster", "server", Problem, "it is no API server")

	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you", http.StatusUnauthorized) }))
	defer refusing.Close()
	configure(t, refusing.URL)
	found, _ = Cluster(t.Context(), nil)
	expect(t, found, "cluster", "server", Problem, "401 Unauthorized: who are you")
}

func TestNoClusterIsAWarning(t *testing.T) {
	if _, err := os.Stat(clientcmd.RecommendedHomeFile); err == nil {
		t.Skip("there is a kubeconfig")
	}
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	found, _ := Cluster(t.Context(), nil)
	expect(t, found, "cluster", "login", Warning, "there is no kubeconfig")
}

func TestMissingRightsAreNamed(t *testing.T) {
	op := &deployment.Operator{
		Name: "greeter", Namespace: "default", Namespaces: []string{"default"}, Wanted: true,
		Registrations: []*abi.Registration{{Handlers: []abi.Handler{}}},
	}
	for allowed, want := range map[bool]string{true: "all that the operator needs", false: "the account lacks list, watch customresourcedefinitions.apiextensions.k8s.io in the whole cluster"} {
		kubernetes(t, 0, allowed)
		_, account := Cluster(t.Context(), nil)
		level := Problem
		if allowed {
			level = OK
		}
		expect(t, []Finding{Rights(t.Context(), op, account)}, "rights", "greeter", level, want)
	}
}

func TestMissingToolsAreProblemsForTheirLanguage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	found := Tools(t.Context(), toolchains.Go)
	expect(t, found, "tools", "Go", Problem, "Go 1.24 or later is missing")
	expect(t, found, "tools", "C", Warning, "apt-get install")
	expect(t, found, "tools", "kubectl", Warning, "kubectl is missing")
}

func TestMissingEnginesAreProblemsForTheirLanguage(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	found := Engines(toolchains.Python)
	expect(t, found, "engines", "Python", Problem, "make engines")
	expect(t, found, "engines", "JavaScript", Warning, "make engines")
	if r := (&Report{found}); r.Problems() != 1 {
		t.Errorf("there are %d problems", r.Problems())
	}
}

func TestCachesThatCannotBeWrittenAreWarnings(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	expect(t, Caches(), "caches", "compiled modules", OK, "0 files, 0.0 MB")
	if err := os.WriteFile(filepath.Join(dir, "kopf", "wasm", "a"), make([]byte, 2_000_000), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, Caches(), "caches", "compiled modules", OK, "1 files, 2.0 MB")
	expect(t, Caches(), "caches", "packed packages", OK, "0 files, 0.0 MB")
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", blocked)
	expect(t, Caches(), "caches", "pulled modules", Warning, "set XDG_CACHE_HOME")
}
