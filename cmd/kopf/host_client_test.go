package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/endpoints"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/hosting/journals"
)

// hostOfTest is a host with three operators. Guests and authors have chosen its texts.
type hostOfTest struct {
	journal journals.Journal
	retried []string

	replicas *facts.Replicas
}

// nasty would forge a line, and control the terminal.
const nasty = "x\x1b[2J\nteam/forged\tTrue"

func (h *hostOfTest) Facts() []facts.Operator {
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	mailer := facts.Operator{
		Kind: api.Namespaced, Namespace: "team", Name: "mailer", Account: "system:serviceaccount:team:mailer", Ready: true, Reason: "Serving", Started: &started,
		Module: facts.Module{Declared: "oci://ghcr.io/team/mailer:v1", Digest: "sha256:0123456789abcdef0123", Handlers: 3, Resources: []string{"things.v1.kopf.dev"}},
		Work:   facts.Work{Objects: 12, Working: 1, Calls: 345, Errors: 6, ComputingSeconds: 75, Instances: 1}, Memory: facts.Memory{Instances: 3 << 20, Host: 4096},
		Limits: []facts.Limit{{Name: "MemoMemory", Used: 10, Limit: 100, Hits: 7}}, Errors: []facts.Error{{Time: started, Message: nasty}},
		Conditions: []api.Condition{{Type: api.Ready, Status: api.True, Reason: "Serving", Message: nasty}},
	}
	other := facts.Operator{Kind: api.Namespaced, Namespace: "other", Name: "mailer", Reason: nasty, Module: facts.Module{Declared: nasty, Digest: nasty}}
	cluster := facts.Operator{Kind: api.Cluster, Name: "janitor", Reason: "CrashLoop"}
	if r := h.replicas; r != nil {
		mailer.Standby, mailer.Host, mailer.Work.Paused = !r.Leads, r.Leader, !r.Leads
	}
	asleep := facts.Operator{Kind: api.Cluster, Name: "asleep", Reason: "Suspended"}
	return []facts.Operator{cluster, other, mailer, asleep}
}

func (h *hostOfTest) Journal(hosting.Key) (*journals.Journal, error) { return &h.journal, nil }

func (h *hostOfTest) Retry(key hosting.Key) error {
	h.retried = append(h.retried, key.String())
	return nil
}

func (*hostOfTest) Object(_ hosting.Key, uid string) (*facts.Object, error) {
	return &facts.Object{Known: true, Daemons: []string{"watch of " + uid}}, nil
}

func (*hostOfTest) IsRunning() bool { return true }

func (h *hostOfTest) Replicas() *facts.Replicas { return h.replicas }

func (h *hostOfTest) SharedMemory() *facts.SharedMemory { return nil }

// atHost runs a command line against a host.
func atHost(t *testing.T, url, line string) (code exitCode, stdout, stderr string) {
	t.Helper()
	t.Setenv("KOPF_HOST", url)
	t.Setenv("KUBECONFIG", t.TempDir()+"/absent")
	var out, err bytes.Buffer
	code = run(strings.Fields(line), &out, &err)
	return code, out.String(), err.String()
}

func serving(t *testing.T) (*hostOfTest, string) {
	t.Helper()
	h := &hostOfTest{}
	server := httptest.NewServer(endpoints.New(h, "v1").Handler(nil))
	t.Cleanup(server.Close)
	return h, server.URL
}

// TestGet lists operators, each on one line, whatever their texts are.
func TestGet(t *testing.T) {
	_, url := serving(t)
	code, out, _ := atHost(t, url, "get")
	lines := strings.Split(out, "\n")
	if code != exitOK || len(lines) != 6 || strings.Contains(out, "\x1b") || strings.Join(strings.Fields(lines[0]), " ") != "OPERATOR DIGEST READY REASON OBJECTS CALLS ERRORS MEMORY CPU" {
		t.Errorf("%d\n%s", code, out)
	}
	if !strings.HasPrefix(lines[3], "team/mailer ") || !strings.Contains(lines[3], "sha256:0123456789ab ") || strings.Join(strings.Fields(lines[3])[2:], " ") != "True Serving 12 345 6 3.0 MiB 1m15s" {
		t.Errorf("the row of an operator is %q", lines[3])
	}
	for line, want := range map[string]int{"get -n team": 2, "get -A": 5, "get team/mailer": 2, "get janitor -o wide": 2, "get -o wide": 5, "get -n nothing": 1} {
		code, out, stderr := atHost(t, url, line)
		if code != exitOK || strings.Count(out, "\n") != want || strings.Contains(out, "\x1b") {
			t.Errorf("kopf %s: %d\n%s%s", line, code, out, stderr)
		}
	}
	var report facts.Report
	if code, out, _ = atHost(t, url, "get team/mailer -o json"); code != exitOK || json.Unmarshal([]byte(out), &report) != nil || len(report.Operators) != 1 || report.Operators[0].Work.Calls != 345 || report.Operators[0].Errors[0].Message != nasty {
		t.Errorf("%d: %s", code, out)
	}
	if code, out, _ = atHost(t, url, "get -o yaml"); code != exitOK || !strings.Contains(out, "schema: hosting.kopf.dev/statusz/v1\n") || strings.Contains(out, "\x1b") {
		t.Errorf("%d: %s", code, out)
	}
}

// TestGetFromAnEmptyNamespace: the host has operators, and none there.
func TestGetFromAnEmptyNamespace(t *testing.T) {
	_, url := serving(t)
	if code, out, _ := atHost(t, url, "get -n nowhere"); code != exitOK || out != "The host has no operators in the namespace nowhere.\n" {
		t.Errorf("%d: %s", code, out)
	}
}

// TestGetFromReplicas: a host that stands by says so, and which host runs the operators.
func TestGetFromReplicas(t *testing.T) {
	h, url := serving(t)
	h.replicas = &facts.Replicas{Name: "host-b", Leader: "host-a"}
	code, out, _ := atHost(t, url, "get team/mailer -o wide")
	if code != exitOK || !strings.Contains(out, " CPU     HOST     HANDLERS ") || !strings.Contains(out, " Standby ") || !strings.Contains(out, " host-a ") {
		t.Errorf("%d\n%s", code, out)
	}
	if code, out, _ = atHost(t, url, "describe team/mailer"); code != exitOK || !strings.Contains(out, "the host that runs it is host-a") || strings.Contains(out, "Paused") {
		t.Errorf("%d\n%s", code, out)
	}
	h, url = serving(t)
	h.replicas = &facts.Replicas{Name: "host-a", Leader: "host-a", Leads: true}
	if code, out, _ = atHost(t, url, "get team/mailer -o json"); code != exitOK || !strings.Contains(out, `"leads": true`) || strings.Contains(out, `"standby"`) {
		t.Errorf("%d\n%s", code, out)
	}
}

// TestDescribe shows each fact on one line.
func TestDescribe(t *testing.T) {
	_, url := serving(t)
	code, out, stderr := atHost(t, url, "describe mailer -n team")
	if code != exitOK || strings.Contains(out, "\x1b") || strings.Contains(out, "\nteam/forged") {
		t.Errorf("%d: %s%s", code, out, stderr)
	}
	for _, want := range []string{
		"Operator:    team/mailer (WasmOperator)\n", "Started:     2026-01-02T03:04:05Z\n", "Calls:       345, with 6 errors and 0 lost\n", "Memory:      3.0 MiB in 1 instances, 4.0 KiB of the host\n",
		`x\u001b[2J\nteam/forged\tTrue`, "MemoMemory", "7 hits", "10 B of 100 B",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
}

// TestLogs shows records on one line each.
func TestLogs(t *testing.T) {
	h, url := serving(t)
	log := zerolog.New(&h.journal)
	log.Error().Dict("object", zerolog.Dict().Str("namespace", "ns").Str("name", "obj")).Err(fmt.Errorf("%s", nasty)).Msg("It failed")
	code, out, stderr := atHost(t, url, "logs team/mailer")
	if code != exitOK || !strings.HasSuffix(out, `Z error [ns/obj] It failed: x\u001b[2J\nteam/forged`+"\tTrue\n") {
		t.Errorf("%d: %s%s", code, out, stderr)
	}
	if code, out, _ = atHost(t, url, "logs team/mailer -o json"); code != exitOK || !strings.Contains(out, `"message":"It failed"`) {
		t.Errorf("%d: %s", code, out)
	}
}

func TestRetry(t *testing.T) {
	h, url := serving(t)
	for line, want := range map[string]string{"retry janitor": "janitor is started again\n", "retry mailer -n team": "team/mailer serves, and continues\n", "retry asleep": "asleep is suspended: to start it, set spec.suspend to false\n"} {
		if code, out, stderr := atHost(t, url, line); code != exitOK || out != want {
			t.Errorf("kopf %s: %d %s%s", line, code, out, stderr)
		}
	}
	if got := len(h.retried); got != 3 {
		t.Errorf("%d retries: %v", got, h.retried)
	}
}

// TestMistakesWithHosts: the error says what to do.
func TestMistakesWithHosts(t *testing.T) {
	_, url := serving(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a token was sent without HTTPS")
		}
		http.Error(w, "u may not get the nonResourceURL /statusz\x1b[2J", http.StatusForbidden)
	}))
	defer refusing.Close()
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	defer foreign.Close()
	newer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"schema":"v9"}`) }))
	defer newer.Close()
	moved := httptest.NewServer(http.RedirectHandler(url+"/statusz", http.StatusFound))
	defer moved.Close()
	tests := []struct {
		url, line string
		code      exitCode
		says      string
	}{
		{url, "get mailr", exitError, `the host has no operator "mailr": did you mean other/mailer or team/mailer?`},
		{url, "describe team/mialer", exitError, "did you mean other/mailer or team/mailer?"},
		{url, "logs nothing-like-it", exitError, `the host has no operator "nothing-like-it"` + "\n"},
		{url, "retry mailer", exitUsage, "2 operators have the name mailer: name one as other/mailer or team/mailer"},
		{url, "describe", exitUsage, "name one operator, as kopf get lists them"},
		{url, "get a b", exitUsage, `unexpected argument "b"`},
		{url, "get -o table", exitUsage, `invalid argument "table" for "-o, --output" flag: want wide, json or yaml`},
		{url, "logs a -o yaml", exitUsage, `invalid argument "yaml" for "-o, --output" flag: want json`},
		{url, "get -A -n team", exitUsage, "not both"},
		{"127.0.0.1:8080", "get", exitUsage, "want a URL like http://127.0.0.1:8080"},
		{"http://u:p@127.0.0.1", "get", exitUsage, "want a URL like"},
		{url, "get --certificate-authority absent", exitUsage, "the certificate authorities: open absent"},
		{"http://127.0.0.1:1", "get", exitError, "no host answers at http://127.0.0.1:1"},
		{"http://127.0.0.1:1", "get", exitError, "kubectl port-forward -n kopf-system deployment/kopf-serve 8080"},
		{refusing.URL, "get", exitError, `403 Forbidden: u may not get the nonResourceURL /statusz\u001b[2J`},
		{foreign.URL, "get", exitError, "the answer is no report of a host"},
		{newer.URL, "get", exitError, `the report has the schema "v9", and this program knows hosting.kopf.dev/statusz/v1`},
		{moved.URL, "get", exitError, "302 Found"},
		{url, "serve . --listen 8080", exitUsage, `--listen "8080": want an address with a port, like 127.0.0.1:8080`},
		{url, "serve . --listen :8443 --tls-cert-file x", exitUsage, "belong together"},
		{url, "serve . --tls-cert-file x --tls-private-key-file x", exitUsage, "add an address"},
	}
	for _, tt := range tests {
		code, stdout, stderr := atHost(t, tt.url, tt.line)
		if code != tt.code || !strings.Contains(stderr, tt.says) || stdout != "" || strings.Contains(stderr, "\x1b") {
			t.Errorf("kopf %s: %d, want %d with %q:\n%s%s", tt.line, code, tt.code, tt.says, stderr, stdout)
		}
	}
}

// TestTokensAreSentByHTTPS: the token of the kubeconfig reaches a verified host, and nothing
// else does.
func TestTokensAreSentByHTTPS(t *testing.T) {
	h := &hostOfTest{}
	inner := endpoints.New(h, "v1").Handler(nil)
	var seen []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	dir := t.TempDir()
	t.Chdir(dir)
	writeFiles(t, map[string]string{
		"ca.pem":     pemOf(server.Certificate().Raw),
		"kubeconfig": `{apiVersion: v1, kind: Config, current-context: x, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: secret}}], contexts: [{name: x, context: {cluster: c, user: u}}]}`,
	})
	t.Setenv("KUBECONFIG", "kubeconfig")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"get", "--host", server.URL}, &stdout, &stderr); code != exitError || !strings.Contains(stderr.String(), "certificate") || len(seen) > 0 {
		t.Errorf("of a host that cannot be verified: %d %s", code, &stderr)
	}
	if code := run([]string{"get", "--host", server.URL, "--certificate-authority", "ca.pem"}, &stdout, &stderr); code != exitOK || len(seen) != 1 || seen[0] != "Bearer secret" {
		t.Errorf("%d %s, with %q", code, &stderr, seen)
	}
}

func pemOf(certificate []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
}

func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A mistake in the variable is not blamed on the flag.
func TestMistakesInTheVariableOfTheHost(t *testing.T) {
	t.Setenv("KOPF_HOST", "localhost:8080")
	for line, want := range map[string]string{"get": `$KOPF_HOST: "localhost:8080": want a URL`, "get --host 127.0.0.1:1": `--host: "127.0.0.1:1": want a URL`} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(line), &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("kopf %s: exit code %d, want %q in\n%s", line, code, want, &stderr)
		}
	}
}
