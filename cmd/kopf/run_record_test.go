package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver"
)

// served serves a cluster in memory over HTTP, and writes a kubeconfig for it.
func served(t *testing.T, cluster *apiserver.Server) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rsp, err := cluster.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer rsp.Body.Close()
		w.Header().Set("Content-Type", rsp.Header.Get("Content-Type"))
		w.WriteHeader(rsp.StatusCode)
		flusher, _ := w.(http.Flusher)
		for buf := make([]byte, 32<<10); ; {
			n, err := rsp.Body.Read(buf)
			if _, broken := w.Write(buf[:n]); err != nil || broken != nil {
				return
			}
			flusher.Flush()
		}
	}))
	t.Cleanup(server.Close)
	config := "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: x, cluster: {server: \"" + server.URL + "\"}}]\nusers: [{name: x}]\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
	if err := os.WriteFile("kubeconfig", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", "kubeconfig")
}

// TestRecordedRunsAreReplayed: kopf run --record writes what kopf replay repeats, without the
// secrets of the environment.
func TestRecordedRunsAreReplayed(t *testing.T) {
	guests, err := filepath.Abs(filepath.Join("..", "..", "test", "guests", "go"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	cmd := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", filepath.Join(must(os.Getwd()), "scripted.wasm"), "./scripted")
	cmd.Dir = guests
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	object := dicts.Object{
		"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": dicts.Object{"name": "obj"},
		"spec": dicts.Object{"do": "temporary", "seconds": 1, "times": 1, "field": "top-secret"},
	}
	cluster := apiserver.New([]apiserver.Resource{apiserver.Guessed(object)})
	if err := cluster.Apply(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	served(t, cluster)
	t.Setenv("TOKEN", "top-secret")
	if code, stdout, stderr := kopf("run scripted.wasm -n default --standalone --once --env TOKEN --record run.rec"); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	recording, err := os.ReadFile("run.rec")
	if err != nil || strings.Contains(string(recording), "top-secret") || !strings.Contains(string(recording), "[redacted:TOKEN]") {
		t.Errorf("the recording: error %v\n%s", err, recording)
	}
	for _, line := range []string{"replay run.rec", "replay run.rec --env TOKEN"} {
		code, stdout, stderr := kopf(line)
		if code != exitOK || !strings.HasSuffix(stdout, " calls replayed: all as recorded\n") || strings.HasPrefix(stdout, "0 ") {
			t.Errorf("kopf %s: exit code %d\n%s%s", line, code, stdout, stderr)
		}
	}
}

// TestRecordingsAreConfidential, also if the file exists already.
func TestRecordingsAreConfidential(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rec")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil { //nolint:gosec // on purpose
		t.Fatal(err)
	}
	for range 2 {
		file, err := confidential(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := file.Stat()
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 0 {
			t.Errorf("the mode is %v, the size %d, error %v", info.Mode(), info.Size(), err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if file, err := confidential(os.DevNull); err != nil || file.Close() != nil {
		t.Error(err)
	}
}
