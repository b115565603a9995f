package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSeveralClusters covers what needs clusters of its own, which take
// seconds each: two at once, a restart, and the end of each.
func TestSeveralClusters(t *testing.T) {
	shared := Cluster(t)
	dir := t.TempDir()
	other := Start(t, Options{Dir: dir, NoControllers: true})
	if shared.RESTConfig().Host == other.RESTConfig().Host {
		t.Fatalf("both clusters are at %s", other.RESTConfig().Host)
	}
	other.Apply(t, fmt.Sprintf(configMap, "kept"))
	if err := gone(t, shared.Dynamic().Resource(configMaps).Namespace("default"), "kept"); err != nil {
		t.Errorf("in the shared cluster: %v", err)
	}

	second := exec.Command(other.server.cmd.Path, "run", "--dir", dir)
	if output, err := second.CombinedOutput(); err == nil || !bytes.Contains(output, []byte("in use")) {
		t.Errorf("second start on a folder: got %v and %s, want an error", err, output)
	}

	other.Stop(t)
	if left := processes(t, dir); len(left) > 0 {
		t.Errorf("after Stop: got processes %v", left)
	}
	again := Start(t, Options{Dir: dir, NoControllers: true})
	if again.RESTConfig().Host != other.RESTConfig().Host {
		t.Errorf("after the restart: got %s, want %s", again.RESTConfig().Host, other.RESTConfig().Host)
	}
	kept := again.Dynamic().Resource(configMaps).Namespace("default")
	if _, err := kept.Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

func TestNothingIsLeftAfterKill(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks for processes in /proc")
	}
	binary, err := findBinary()
	failOrSkip(t, err)
	dir := t.TempDir()
	cmd := exec.Command(binary, "run", "--dir", dir, "--no-fsync", "--until-stdin-closes")
	s, _, err := startServer(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(processes(t, dir)); got != 4 {
		t.Errorf("got %d processes, want 4: the parent, etcd, the API server and the controllers", got)
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.exited
	(&ControlPlane{}).Eventually(t, time.Minute, func() error {
		if left := processes(t, dir); len(left) > 0 {
			return fmt.Errorf("still there: %v", left)
		}
		return nil
	})
}

func TestFailedStartIsExplained(t *testing.T) {
	binary, err := findBinary()
	failOrSkip(t, err)
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "etcd", "member", "snap"))
	writeFile(t, filepath.Join(dir, "etcd", "member", "snap", "db"), "damaged")
	cmd := exec.Command(binary, "run", "--dir", dir)
	_, _, err = startServer(cmd)
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"etcd: ended by itself", filepath.Join(dir, "etcd.log"), "failed to open database"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}

func TestTemporaryFolderIsRemoved(t *testing.T) {
	cluster := Start(t, Options{NoControllers: true})
	dir := filepath.Dir(cluster.Kubeconfig())
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	cluster.Stop(t)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Stop: got %v, want no folder", err)
	}
}

// processes returns the ids of the processes that work in a folder, or have it
// on their command line.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range lines {
		proc := filepath.Dir(path)
		cmdline, _ := os.ReadFile(path) // ended meanwhile: empty
		cwd, _ := os.Readlink(filepath.Join(proc, "cwd"))
		if cwd == dir || bytes.Contains(cmdline, []byte(dir)) {
			found = append(found, filepath.Base(proc))
		}
	}
	return found
}
