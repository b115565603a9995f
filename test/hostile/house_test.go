package hostile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/hosting/identity"
	"github.com/kopf-wasm/kopf/hosting/installation"
	"github.com/kopf-wasm/kopf/operator/scripts"
	"github.com/kopf-wasm/kopf/test/clustertest"
	"github.com/kopf-wasm/kopf/test/lines"
)

// patience is how long anything may take that takes a moment usually.
const patience = 3 * time.Minute

// Resources that tests use.
var (
	examples     = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}
	declarations = schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: api.Namespaced.Plural()}
)

// house is a cluster with a registry and a host.
type house struct {
	*clustertest.ControlPlane
	registry *ocitest.Registry
	gates    *gates // of the registry
	engine   []byte // runs scripts
	own      string // the namespace of the host's account
	url      string // of the endpoints
	cmd      *exec.Cmd
	log      *lines.Lines
	stdout   *lines.Lines
	ended    chan struct{} // closed when the process has
}

// flags are those of the host: small limits, so that attackers reach them soon.
var flags = []string{
	"--log-format", "json", "--listen", "127.0.0.1:0", "--memory", "3Gi",
	"--limit", "ComputeLimit=1s", "--limit", "MaxMemory=64Mi", "--limit", "RegisterTimeout=5s", "--limit", "LogLimit=100Ki",
	"--limit", "MemoMemory=2Mi", "--limit", "IndexMemory=1Mi", "--limit", "BodyMemory=256Ki", "--limit", "MaxChildren=100", "--limit", "AnswerMemory=1Mi", "--limit", "PatchMemory=2Mi",
	"--set", "process.ultimate_exiting_timeout=5", "--admission-server", `{"type": "server", "addr": "127.0.0.1"}`,
}

// newHouse starts a host whose account may do nothing but host.
func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{ControlPlane: clustertest.Cluster(t), registry: ocitest.New(t), gates: newGates(), engine: engine(t), log: &lines.Lines{}, stdout: &lines.Lines{}, ended: make(chan struct{})}
	h.registry.Override(h.gates.ServeHTTP)
	crds, err := os.ReadFile("../conformance/crds/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	h.Apply(t, string(crds))
	h.Apply(t, installation.Manifests(identity.Token, &installation.Admission{}))
	h.own = h.Namespace(t)
	h.ApplyIn(t, h.own, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: host}}")
	h.Apply(t, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %[1]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kopf-serve}, subjects: [{kind: ServiceAccount, name: host, namespace: %[1]s}]}", h.own))
	h.start(t)
	return h
}

// start starts the process, and waits until it serves its endpoints.
func (h *house) start(t *testing.T) {
	t.Helper()
	h.cmd = exec.Command(program(t), append([]string{"serve", "--allow-registry", h.registry.Ref("x").Registry}, flags...)...)
	h.cmd.Env = append(os.Environ(), "KUBECONFIG="+h.KubeconfigOf(t, h.own, "host"), "XDG_CACHE_HOME="+t.TempDir())
	h.cmd.Stdout, h.cmd.Stderr = h.stdout, h.log
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // Waited for by the clean-up below.
		defer close(h.ended)
		_ = h.cmd.Wait() // the exit code is looked at
	}()
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill() // it has ended, unless the test has failed
		<-h.ended
		if path := os.Getenv("KOPF_HOSTILE_LOG"); path != "" { // to look at
			_ = os.WriteFile(path, []byte(strings.Join(h.log.All(), "\n")), 0o600)
		}
		if lines := h.log.All(); t.Failed() {
			t.Logf("the end of the host's log:\n%s", shortened(lines[max(0, len(lines)-100):]))
		}
	})
	address := regexp.MustCompile(`"address":"([^"]+)"`)
	h.Eventually(t, patience, func() error {
		for _, line := range h.log.All() {
			if m := address.FindStringSubmatch(line); m != nil {
				h.url = "http://" + m[1]
				return nil
			}
		}
		return errors.Join(errors.New("the host does not listen"), h.alive())
	})
}

// shortened joins lines, none of which is long.
func shortened(lines []string) string {
	for i, line := range lines {
		lines[i] = line[:min(len(line), 600)]
	}
	return strings.Join(lines, "\n")
}

// clientOf makes requests as a service account.
func (h *house) clientOf(t *testing.T, namespace, account string) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(h.As(t, namespace, account))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// pack puts a module into the registry.
func (h *house) pack(t *testing.T, tag string, module []byte) (digest string) {
	t.Helper()
	return h.registry.Pack(t, tag, module)
}

// script makes a module of a script.
func (h *house) script(t *testing.T, text string) []byte {
	t.Helper()
	module, err := scripts.Embed(h.engine, "operator.js", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// alive returns nil while the process runs.
func (h *house) alive() error {
	select {
	case <-h.ended:
		return fmt.Errorf("the host has ended: %v", h.cmd.ProcessState)
	default:
		return errors.Join(nil, h.cmd.Process.Signal(syscall.Signal(0)))
	}
}

// fetch gets one of the host's endpoints.
func (h *house) fetch(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+path, nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, answer.Status, text)
	}
	return string(text), err
}

// report is the status page in JSON.
func (h *house) report(ctx context.Context) (*facts.Report, error) {
	text, err := h.fetch(ctx, "/statusz")
	if err != nil {
		return nil, err
	}
	report := &facts.Report{}
	return report, json.Unmarshal([]byte(text), report)
}

// fact is what the status page says about an operator; nil if it says nothing.
func (h *house) fact(ctx context.Context, namespace, name string) (*facts.Operator, error) {
	report, err := h.report(ctx)
	if err != nil {
		return nil, err
	}
	for i := range report.Operators {
		if f := &report.Operators[i]; f.Name == name && f.Namespace == namespace {
			return f, nil
		}
	}
	return nil, nil
}

// lives checks that the host lives and answers.
func (h *house) lives(t *testing.T, pid int) {
	t.Helper()
	if err := h.alive(); err != nil || h.cmd.Process.Pid != pid {
		t.Fatalf("the host: %v", err)
	}
	for _, path := range []string{"/livez", "/statusz", "/statusz?format=html", "/metrics"} {
		if _, err := h.fetch(t.Context(), path); err != nil {
			t.Error(err)
		}
	}
	for _, line := range h.log.All() {
		if !json.Valid([]byte(line)) {
			t.Errorf("the log has a line that is no record: %.300q", line)
		}
	}
}
