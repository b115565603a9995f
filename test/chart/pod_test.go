package chart_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/scripts/release/image"
	"github.com/kopf-wasm/kopf/test/clustertest"
	"github.com/kopf-wasm/kopf/test/registrytest"
)

// TestPodsOfTheImageHandleObjects: the image runs an operator of a registry with the pod, the account and the rights of
// the chart, or of `kopf manifest`. The pod is admitted where only restricted pods are.
func TestPodsOfTheImageHandleObjects(t *testing.T) {
	t.Parallel()
	cluster := clustertest.Cluster(t)
	module := pushed(t)
	crd := root + "/examples/01-minimal/crd.yaml"
	cluster.Apply(t, string(readFile(t, crd)))
	k := &kubelet{cluster: cluster, layout: packed(t, nil), tag: imageVersion}
	for name, make := range map[string]func(t *testing.T, namespace string) []*unstructured.Unstructured{
		"chart": func(t *testing.T, namespace string) []*unstructured.Unstructured {
			given := kopf(t, "manifest", module, "-n", namespace, "--name", "minimal", "--crd", crd, "--values")
			return rendered(t, "minimal", namespace, values(given))
		},
		"kopf manifest": func(t *testing.T, namespace string) []*unstructured.Unstructured {
			objects, err := documents(kopf(t, "manifest", module, "-n", namespace, "--name", "minimal", "--crd", crd, "--image", "example.com/kopf:v1"))
			if err != nil {
				t.Fatal(err)
			}
			return objects
		},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := cluster.Namespace(t)
			p := k.run(t, admitted(t, cluster, namespace, make(t, namespace)))
			handled(t, cluster, namespace, p)
			confined(t, cluster, p)
			if code := p.stop(t); code != 0 || strings.Contains(p.output.String(), "orbidden") {
				t.Errorf("the exit code is %d", code)
			}
		})
	}
}

// TestPodsOfHostsServeOperators: the image runs `kopf serve` with the pod, the account and the rights of the chart.
func TestPodsOfHostsServeOperators(t *testing.T) {
	t.Parallel()
	cluster := clustertest.Cluster(t)
	namespace := cluster.Namespace(t)
	module := pushed(t)
	registry, _, _ := strings.Cut(strings.TrimPrefix(module, "oci://"), "/")
	crd := root + "/examples/01-minimal/crd.yaml"
	cluster.Apply(t, string(readFile(t, crd)))
	given := serveValues + values(fmt.Sprintf("host: {namespaces: [%s], allowRegistries: ['%s']}\n", namespace, registry))
	k := &kubelet{cluster: cluster, layout: packed(t, nil), tag: imageVersion}
	p := k.run(t, admitted(t, cluster, namespace, rendered(t, "host-"+namespace, namespace, given)))
	cluster.Apply(t, kopf(t, "manifest", module, "-n", namespace, "--name", "minimal", "--crd", crd, "--hosted"))
	handled(t, cluster, namespace, p)
	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answers(t, cluster, client, "https://127.0.0.1:"+p.ports["https"]+"/readyz")
	if code := p.stop(t); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
}

// admitted applies all objects except those of controllers, and creates the pod of the Deployment where only restricted
// pods are admitted.
func admitted(t *testing.T, cluster *clustertest.ControlPlane, namespace string, objects []*unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	cluster.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted}}}", namespace))
	for _, object := range objects {
		if kind := object.GetKind(); kind != "Deployment" {
			cluster.Apply(t, marshalled(t, object.Object))
		}
	}
	deployment := find(t, objects, "Deployment")
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": field(t, deployment, "spec.template.spec"),
		"metadata": map[string]any{"generateName": "pod-", "namespace": namespace, "labels": field(t, deployment, "spec.template.metadata.labels")},
	}}
	made, err := cluster.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// handled creates an object, and waits until the operator has handled it.
func handled(t *testing.T, cluster *clustertest.ControlPlane, namespace string, p *process) {
	t.Helper()
	cluster.ApplyIn(t, namespace, "{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: obj}, spec: {field: value}}")
	objects := cluster.Dynamic().Resource(schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}).Namespace(namespace)
	cluster.Eventually(t, 2*patience, func() error {
		select {
		case <-p.exited:
			t.Fatal("the pod has ended")
		default:
		}
		object, err := objects.Get(t.Context(), "obj", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if seen, _, _ := unstructured.NestedBool(object.Object, "status", "seen"); !seen {
			return errors.New("the object is not handled")
		}
		return nil
	})
}

// confined checks what the process may do, whether its probes answer, and that modules are compiled into the cache.
func confined(t *testing.T, cluster *clustertest.ControlPlane, p *process) {
	t.Helper()
	status := string(readFile(t, fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)))
	for _, want := range []string{`Uid:\s65532\s65532`, `Gid:\s65532\s65532`, `NoNewPrivs:\s1`, `CapEff:\s0+\n`, `CapPrm:\s0+\n`} {
		if !regexp.MustCompile(want).MatchString(status) {
			t.Errorf("the process has no %s:\n%s", want, status)
		}
	}
	if mounts := string(readFile(t, fmt.Sprintf("/proc/%d/mountinfo", p.cmd.Process.Pid))); !regexp.MustCompile(` / ro,`).MatchString(mounts) {
		t.Errorf("the root file system is not read-only:\n%s", mounts)
	}
	if cached, err := filepath.Glob(p.cache + "/*"); err != nil || len(cached) == 0 {
		t.Errorf("the cache is empty: %v", err)
	}
	client := &http.Client{Timeout: patience}
	for port, path := range map[string]string{"probes": "/healthz", "metrics": "/readyz"} {
		if p.ports[port] == "" {
			continue // kopf manifest has no port for metrics
		}
		answers(t, cluster, client, "http://127.0.0.1:"+p.ports[port]+path)
	}
}

// answers waits until a probe succeeds. An object can be handled before all streams are ready.
func answers(t *testing.T, cluster *clustertest.ControlPlane, client *http.Client, url string) {
	t.Helper()
	cluster.Eventually(t, patience, func() error {
		answer, err := client.Get(url)
		if err != nil {
			return err
		}
		if err := answer.Body.Close(); err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, answer.Status)
		}
		return nil
	})
}

// imageVersion is the version of the image of packed.
const imageVersion = "0.1.0"

// packed writes the image with the program of this checkout, and its variant if there are engines.
func packed(t *testing.T, engines map[string][]byte) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "image")
	err := image.Write(folder, image.Options{Version: imageVersion, Created: time.Unix(0, 0), Programs: map[string][]byte{runtime.GOARCH: readFile(t, program(t))}, Engines: engines})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// program is the path of the program kopf, which `make build` builds.
func program(t *testing.T) string {
	t.Helper()
	return built(t, root+"/bin/kopf", "make build")
}

// built returns the absolute path of a file that a command builds.
func built(t *testing.T, path, by string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: run %s", err, by)
		}
		t.Skipf("SKIPPED: %v: run %s", err, by)
	}
	return path
}

// kopf runs the program without a cluster, and returns its output.
func kopf(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(program(t), args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "KUBECONFIG=/dev/null", "XDG_CACHE_HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kopf %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// pushed pushes the operator of an example, and returns its reference.
func pushed(t *testing.T) string {
	t.Helper()
	registry := registrytest.Start(t, registrytest.Options{})
	reference := "oci://" + registry.Host + "/operators/minimal:v1"
	kopf(t, "push", built(t, root+"/.cache/guests/01-minimal.wasm", "make guest-examples"), reference)
	return reference
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
