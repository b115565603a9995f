package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/operator/projects"
	"github.com/kopf-wasm/kopf/operator/toolchains"
)

// sdkVersion is the version of the SDKs that new operators use, when this program is not of a
// release.
const sdkVersion = "v0.1.0"

func newNewCmd(stdout io.Writer) *cobra.Command {
	var project projects.Project
	var language, template string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a new operator",
		Long: `New writes an operator into a new folder: its source and tests, the resource that it handles
with an object of it, a README, a Makefile, and a workflow of GitHub that runs the tests.

The templates:

  minimal    notes the text of each object in its status
  children   keeps a ConfigMap for each object
  daemon     runs as long as an object exists
  webhook    checks and completes objects before they are stored`,
		Example: `  kopf new memberships
  kopf new memberships --lang rust --template children
  kopf new memberships --lang go --sdk ../kopf`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name the new operator: kopf new memberships")}
			}
			folder, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			project.Folder, project.Language, project.Template = folder, toolchains.Language(language), projects.Template(template)
			project.Version = sdkVersion
			if own := version(); strings.HasPrefix(own, "v") && !strings.Contains(own, "-") { // not one between releases
				project.Version = own
			} else if project.SDK == "" {
				project.SDK = ownClone(os.Executable())
			}
			return writeProject(&project, args[0], stdout)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&language, "lang", "l", string(toolchains.Go), "the `LANGUAGE`: "+words(toolchains.Languages()))
	flags.StringVarP(&template, "template", "t", string(projects.Minimal), "the `TEMPLATE`: "+words(projects.Templates()))
	flags.StringVar(&project.SDK, "sdk", "", "use the SDK of this `CLONE` of kopf, for Go and Rust (default the clone that this program was built in, or the published one)")
	completeFlag(cmd, "lang", strings.Split(words(toolchains.Languages()), ", ")...)
	completeFlag(cmd, "template", strings.Split(words(projects.Templates()), ", ")...)
	return cmd
}

// ownClone is the clone whose Makefile has built a program, if the program still is there.
func ownClone(program string, err error) string {
	if err != nil {
		return ""
	}
	clone := filepath.Dir(filepath.Dir(program))
	if _, err := os.Stat(filepath.Join(clone, "guest-sdks", "go", "go.mod")); err != nil {
		return ""
	}
	return clone
}

func words[Word ~string](all []Word) string {
	texts := make([]string, len(all))
	for i, word := range all {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

func writeProject(project *projects.Project, shown string, stdout io.Writer) error {
	written, err := project.Write()
	for _, mistake := range []error{projects.ErrName, projects.ErrNotEmpty, projects.ErrNoSDK, projects.ErrUnknown} {
		if errors.Is(err, mistake) {
			return usageError{err}
		}
	}
	if err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintln(stdout, filepath.Join(shown, filepath.FromSlash(path)))
	}
	if project.SDK == "" && project.Version == sdkVersion && slices.Contains([]toolchains.Language{toolchains.Go, toolchains.Rust}, project.Language) {
		fmt.Fprintf(stdout, "\nThe operator needs version %s of the SDK. If it is not published yet, name a clone of the repository of kopf: --sdk CLONE\n", sdkVersion)
	}
	fmt.Fprintf(stdout, "\nNext:\n  cd %s\n  make test\n  kubectl apply -f crd.yaml\n  make dev\n", cmp.Or(shown, "."))
	return nil
}
