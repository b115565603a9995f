package clusters

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/programtest"
	"github.com/kopf-wasm/kopf/operator/toolchains"
)

// devcluster puts a program in the place of the real one.
func devcluster(t *testing.T, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	programtest.Write(t, path, script)
	t.Setenv(Variable, path)
}

func TestClusterEndsWithItsInput(t *testing.T) {
	ended := filepath.Join(t.TempDir(), "ended")
	devcluster(t, `[ "$1 $2" = "run --dir" ] || exit 1
mkdir -p "$3"; echo starting >&2; echo "ready $3/kubeconfig"; cat; echo >"`+ended+`"`)
	var messages bytes.Buffer
	c, err := Start(t.Context(), &messages)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(c.Kubeconfig)
	if filepath.Base(c.Kubeconfig) != "kubeconfig" {
		t.Errorf("the kubeconfig is %s", c.Kubeconfig)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ended); err != nil {
		t.Errorf("the program was not waited for: %v", err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its data remain: %v", err)
	}
	if messages.String() != "starting\n" {
		t.Errorf("the messages are %q", messages.String())
	}
}

func TestClusterThatDoesNotStartIsAnError(t *testing.T) {
	devcluster(t, "echo no port >&2; exit 3")
	var messages bytes.Buffer
	_, err := Start(t.Context(), &messages)
	if !errors.Is(err, ErrNotStarted) || !strings.Contains(err.Error(), "exit status 3") || messages.String() != "no port\n" {
		t.Errorf("%v, %q", err, messages.String())
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	t.Setenv(Variable, "")
	t.Setenv("PATH", t.TempDir())
	_, err := Start(t.Context(), &bytes.Buffer{})
	if !errors.As(err, new(*toolchains.MissingError)) || !strings.Contains(err.Error(), "make devcluster") {
		t.Errorf("%v", err)
	}
}

func TestDefinitionsAreFoundAmongManifests(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"all.yaml": "# a comment\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.com}\n",
		"crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: bs.example.com}\n",
		"crd.json": "{",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := definitionsOf(dir)
	var names []string
	for _, definition := range found {
		names = append(names, definition.GetName())
	}
	if err != nil || !slices.Equal(names, []string{"as.example.com", "bs.example.com"}) {
		t.Errorf("%v, %v", names, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.yaml"), []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := definitionsOf(dir); err == nil || !strings.Contains(err.Error(), "broken.yaml") {
		t.Errorf("a broken manifest: %v", err)
	}
}
