package docs

import (
	"regexp"
	"strings"
	"testing"
)

// TestSupport: docs/support.md names the versions that the tests, the modules and the chart have.
func TestSupport(t *testing.T) {
	text := manual(t, "support.md").text
	embedded := only(t, "test/cluster/go.mod", `(?m)^\tk8s\.io/kubernetes v(1\.\d+)\.`)
	var others []string
	for _, version := range strings.Fields(only(t, "Makefile", `(?m)^KUBERNETES_VERSIONS \?= (.*)$`)) {
		minor, _, _ := strings.Cut(strings.TrimPrefix(version, "v1."), ".")
		if "1."+minor != embedded {
			others = append(others, "1."+minor)
		}
	}
	for what, want := range map[string]string{
		"the embedded version of Kubernetes":           "\n| " + embedded + " | all tests, for each change |\n",
		"the other versions of `make matrix`":          "\n| " + strings.Join(others, ", ") + " | `make matrix`, each night |\n",
		"the oldest version of Kubernetes":             "\n| before " + only(t, "charts/kopf/Chart.yaml", `kubeVersion: ">=(1\.\d+)\.0-0"`) + " | the chart refuses these versions |\n",
		"the version of Go of the program":             "\n| the program, and [embedding](embedding.md) it | Go " + only(t, "go.mod", `(?m)^go (\d+\.\d+)`) + " or later |\n",
		"the version of Rust of its SDK":               "| Rust " + only(t, "guest-sdks/rust/Cargo.toml", `rust-version = "(.*)"`) + " or later, edition " + only(t, "guest-sdks/rust/Cargo.toml", `edition = "(.*)"`),
		"the version of Kopf with its behaviour":       "\n| behaviour | Kopf " + only(t, "cmd/kopf/version.go", `const reference = "(.*)"`) + ":",
		"the range of untested versions in Kubernetes": "\n| from " + only(t, "charts/kopf/Chart.yaml", `kubeVersion: ">=(1\.\d+)\.0-0"`) + " on |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/support.md does not say %s: %q", what, want)
		}
	}
	platforms := regexp.MustCompile(`\{"(\w+)", "(\w+)"\}`).FindAllStringSubmatch(only(t, "scripts/release/programs/programs.go", `var Platforms = \[\]Platform\{(.*)\}\n`), -1)
	if len(platforms) < 2 {
		t.Fatalf("the platforms are %v", platforms)
	}
	for _, platform := range platforms {
		if name := platform[1] + "/" + platform[2]; !strings.Contains(text, name) {
			t.Errorf("docs/support.md does not name the platform %s", name)
		}
	}
}

// only returns what the group of a pattern matches in a file.
func only(t *testing.T, path, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(read(t, path))
	if match == nil {
		t.Fatalf("%s has no %s", path, pattern)
	}
	return match[1]
}
