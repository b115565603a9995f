package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/scripts/release/image"
	"github.com/kopf-wasm/kopf/test/clustertest"
)

// scriptValues are those of an operator that is a file of a ConfigMap. `kopf manifest` prints its rights.
const scriptValues = `
image: {tag: 0.1.0-scripts}
operator: {modules: [/scripts/operator.js], namespaces: [%[1]s]}
fullnameOverride: minimal
rbac: {create: false}
serviceAccount: {create: false}
volumes: [{name: scripts, configMap: {name: minimal}}]
volumeMounts: [{name: scripts, mountPath: /scripts, readOnly: true}]
`

// TestPodsOfTheImageWithEnginesRunScripts: the variant of the image with engines runs a script of a volume, as
// docs/deployment.md describes it: without an engine in the volume, and without a registry.
func TestPodsOfTheImageWithEnginesRunScripts(t *testing.T) {
	t.Parallel()
	cluster := clustertest.Cluster(t)
	namespace := cluster.Namespace(t)
	crd, script := root+"/examples/01-minimal/crd.yaml", root+"/examples/01-minimal/operator.js"
	cluster.Apply(t, string(readFile(t, crd)))
	scripts := t.TempDir()
	if err := os.WriteFile(filepath.Join(scripts, "operator.js"), readFile(t, script), 0o644); err != nil {
		t.Fatal(err)
	}
	engine := readFile(t, built(t, root+"/bin/engines/javascript.wasm", "make engines"))
	k := &kubelet{
		cluster: cluster, layout: packed(t, map[string][]byte{"javascript.wasm": engine}), tag: imageVersion + image.ScriptsSuffix,
		volumes: map[string]string{"/scripts": scripts},
	}
	cluster.Apply(t, kopf(t, "manifest", script, "-n", namespace, "--name", "minimal", "--crd", crd))
	objects := rendered(t, "minimal", namespace, values(fmt.Sprintf(scriptValues, namespace)))
	p := k.run(t, admitted(t, cluster, namespace, objects))
	handled(t, cluster, namespace, p)
	confined(t, cluster, p)
	if code := p.stop(t); code != 0 || strings.Contains(p.output.String(), "orbidden") {
		t.Errorf("the exit code is %d", code)
	}
}
