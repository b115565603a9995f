package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"
)

const repository = "../.."

func workflows(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(repository + "/.github/workflows/*.yml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no workflows: %v", err)
	}
	return paths
}

func TestWorkflowsHaveNoLint(t *testing.T) {
	var out bytes.Buffer
	linter, err := actionlint.NewLinter(&out, &actionlint.LinterOptions{Shellcheck: "", Pyflakes: "", LogWriter: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	found, err := linter.LintFiles(workflows(t), nil)
	if err != nil || len(found) > 0 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// prepares are commands that bring make to a machine without it.
var prepares = []string{"apt-get update && apt-get install ", "git config --global --add safe.directory "}

// TestWorkflowsCallMake: what a workflow does can be done on any machine, by targets of the Makefile that exist.
func TestWorkflowsCallMake(t *testing.T) {
	makefile, err := os.ReadFile(repository + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range workflows(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var workflow struct {
			Jobs map[string]struct {
				Strategy struct {
					Matrix struct{ Target []string }
				}
				Steps []struct{ Run string }
			}
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatal(err)
		}
		for name, job := range workflow.Jobs {
			targets := job.Strategy.Matrix.Target
			for _, step := range job.Steps {
				target, isMake := strings.CutPrefix(step.Run, "make ")
				switch {
				case isMake && !strings.HasPrefix(target, "${{"):
					targets = append(targets, strings.Fields(target)[0])
				case step.Run != "" && !isMake && !strings.HasPrefix(step.Run, prepares[0]) && !strings.HasPrefix(step.Run, prepares[1]):
					t.Errorf("%s: %s runs %q: make it a target of the Makefile", path, name, step.Run)
				}
			}
			for _, target := range targets {
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(makefile) {
					t.Errorf("%s: %s: there is no make %s", path, name, target)
				}
			}
		}
	}
}
