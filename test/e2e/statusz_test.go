package e2e_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/hosting/identity"
)

// listening waits until the host serves its endpoints, and returns the addresses: the one
// without authentication, and the one with it.
func (h *hosting) listening(t *testing.T) (open, guarded string) {
	t.Helper()
	address := regexp.MustCompile(`"address":"([^"]+)","authentication":(true|false)`)
	h.space.until(t, "the endpoints are served", func() bool {
		open, guarded = "", ""
		for _, m := range address.FindAllStringSubmatch(h.stderr.String(), -1) {
			if m[2] == "true" {
				_, port, _ := strings.Cut(m[1], "]:")
				guarded = "https://127.0.0.1:" + port
			} else {
				open = "http://" + m[1]
			}
		}
		return open != "" && guarded != ""
	})
	return open, guarded
}

// fetched makes a request, and returns the status and the body.
func fetched(t *testing.T, url, token string) (code int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // the host has made the certificate itself
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestServedOperatorsAreSeen: the page, the metrics and the commands show what each operator
// of a folder does. One that would reach the page is refused, and a retry tries it again.
func TestServedOperatorsAreSeen(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	dir := t.TempDir()
	declare := func(name, more string) {
		t.Helper()
		text := fmt.Sprintf("{apiVersion: hosting.kopf.dev/v1alpha1, kind: WasmOperator, metadata: {name: %s, namespace: %s}, spec: {module: op.wasm, serviceAccountName: tenant%s}}", name, h.namespace, more)
		if err := os.WriteFile(dir+"/"+name+".yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wasm, err := os.ReadFile(version(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/op.wasm", wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	declare("good", "")
	h.serve(t, dir, "--listen", "127.0.0.1:0", "--listen", "0.0.0.0:0", "--log-format", "json")
	open, guarded := h.listening(t)
	declare("nosy", ", grants: {hosts: ['"+open+"']}")
	h.create(t, "obj", "{}")
	h.handled(t, "obj")

	good := h.fact(t, open, "good", func(f *facts.Operator) bool { return f.Ready && f.Work.Calls > 0 && f.Work.Objects > 0 })
	if good.Work.Errors != 0 || good.Memory.Instances < 64<<10 || good.Work.ComputingSeconds <= 0 || good.Module.Handlers != 2 || !strings.HasPrefix(good.Module.Digest, "sha256:") {
		t.Errorf("facts %+v", good)
	}
	h.fact(t, open, "nosy", func(f *facts.Operator) bool { return !f.Ready && f.Reason == "HostOfMachine" })

	run := func(args ...string) result { return kopf(t, []string{"KOPF_HOST=" + open}, args...) }
	if got := run("get", "-n", h.namespace); got.code != 0 || len(strings.Split(strings.TrimSpace(got.stdout), "\n")) != 3 || !regexp.MustCompile(h.namespace+`/good +sha256:[0-9a-f]{12} +True +Serving +1 +[1-9]`).MatchString(got.stdout) {
		t.Errorf("kopf get: %+v", got)
	}
	if got := run("describe", "nosy"); got.code != 0 || !strings.Contains(got.stdout, "not those of the host's own machine") {
		t.Errorf("kopf describe: %+v", got)
	}
	if got := run("logs", "good"); got.code != 0 || !strings.Contains(got.stdout, "obj] Handler 'createFn' succeeded.") {
		t.Errorf("kopf logs: %+v", got)
	}
	h.retriedOnce(t, run)
	if code, text := fetched(t, open+"/metrics", ""); code != http.StatusOK || !strings.Contains(text, fmt.Sprintf(`kopf_operator_ready{operator="good",operator_namespace=%q} 1`, h.namespace)) {
		t.Errorf("metrics: %d %s", code, text)
	}
	h.guards(t, guarded)
}

// fact waits until the facts of an operator are as wanted.
func (h *hosting) fact(t *testing.T, url, name string, good func(f *facts.Operator) bool) *facts.Operator {
	t.Helper()
	var found *facts.Operator
	h.space.until(t, "the facts of "+name, func() bool {
		code, text := fetched(t, url+"/statusz", "")
		var report facts.Report
		if err := json.Unmarshal([]byte(text), &report); code != http.StatusOK || err != nil || report.Schema != facts.Schema {
			t.Fatalf("%d, %v: %s", code, err, text)
		}
		for i := range report.Operators {
			if f := &report.Operators[i]; f.Name == name && good(f) {
				found = f
			}
		}
		return found != nil
	})
	return found
}

// retriedOnce shows that an operator that needs a change is tried again by kopf retry only.
func (h *hosting) retriedOnce(t *testing.T, run func(args ...string) result) {
	t.Helper()
	refusals := func() int { return strings.Count(run("logs", "nosy").stdout, "The declared operator does not run") }
	if got := refusals(); got != 1 {
		t.Errorf("%d attempts before the retry", got)
	}
	if got := run("retry", "nosy"); got.code != 0 || got.stdout != h.namespace+"/nosy is started again\n" {
		t.Errorf("kopf retry: %+v", got)
	}
	h.space.until(t, "it is tried again", func() bool { return refusals() == 2 })
}

// guards shows that an address that others can reach needs a token of a user with the right.
func (h *hosting) guards(t *testing.T, url string) {
	t.Helper()
	for _, path := range []string{"/livez", "/readyz"} {
		if code, text := fetched(t, url+path, ""); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text := fetched(t, url+"/statusz", ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", code, text)
	}
	stranger := h.as(t, "tenant").BearerToken
	if code, text := fetched(t, url+"/statusz", stranger); code != http.StatusForbidden || !strings.Contains(text, "bind the ClusterRole kopf-statusz") {
		t.Errorf("without the right: %d %s", code, text)
	}
	h.ApplyIn(t, h.namespace, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: viewer}}")
	h.Apply(t, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: viewer-%[1]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kopf-statusz}, subjects: [{kind: ServiceAccount, name: viewer, namespace: %[1]s}]}", h.namespace))
	viewer := h.as(t, "viewer").BearerToken
	h.space.until(t, "the viewer gets an answer", func() bool { // the binding takes effect some time after it was written, and decisions are remembered
		code, text := fetched(t, url+"/statusz", viewer)
		return code == http.StatusOK && strings.Contains(text, facts.Schema)
	})
}
