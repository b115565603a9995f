package sdkgo_test

import (
	"testing"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/test/sources"
)

// TestLibrariesOfKubernetes checks that a guest with the types of Kubernetes and klog is accepted: the code that
// initialises the types is straight for longer than any other known code, and klog reads os.Args[0].
func TestLibrariesOfKubernetes(t *testing.T) {
	sources.WatchGo(t, "test/sdk-go/testdata/libraries")
	wasm, err := build("libraries")
	if err != nil {
		t.Fatalf("building the guest: %v", err)
	}
	module, err := host.Load(t.Context(), "libraries.wasm", wasm, host.Options{CacheDir: t.TempDir()}) // an accepted module is not checked again
	if err != nil {
		t.Fatal(err)
	}
	defer module.Close(t.Context())
	r := &run{t: t, module: module, env: &env{segments: map[uint32]string{}, memo: map[string]string{}}}
	step := r.start("create", `{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}`)
	want(t, step, `{"step": "done", "result": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "64Mi"}}}]}`)
}
