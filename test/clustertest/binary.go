package clustertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The environment of the tests.
const (
	binaryVar     = "KOPF_DEVCLUSTER"      // path of the cluster's binary
	kubeconfigVar = "KOPF_TEST_KUBECONFIG" // of a running cluster to be used
	ciVar         = "CI"                   // a skipped test is a failure
)

// errNoBinary means that the cluster's binary was not built.
var errNoBinary = errors.New("the embedded cluster is not built: run 'make devcluster' (first time: 3-5 minutes)")

// rootModule marks the go.mod of the repository's root, in contrast to those
// of the modules nested in it.
const rootModule = "module github.com/kopf-wasm/kopf\n"

// findBinary returns the path of the cluster's binary.
func findBinary() (string, error) {
	if path := os.Getenv(binaryVar); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", binaryVar, err)
		}
		return path, nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	root, err := findRoot(folder)
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, ".cache", "bin", "devcluster")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: %w", errNoBinary, err)
	}
	return path, nil
}

// findRoot walks up from a folder to the one of the root module.
func findRoot(folder string) (string, error) {
	for at := folder; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), rootModule) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod of the project above %s; set %s", folder, binaryVar)
		}
	}
}

// inCI reports whether the tests run in CI, where skipped tests go unnoticed.
func inCI() bool {
	value := os.Getenv(ciVar)
	return value != "" && value != "0" && value != "false"
}
