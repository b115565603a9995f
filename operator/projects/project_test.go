package projects

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/toolchains"
)

const (
	repository  = "../.."
	registering = time.Minute // Python computes for a third of a second, and other tests compute, too
)

// written writes a project that uses the SDK of this repository.
func written(t *testing.T, language toolchains.Language, template Template) *Project {
	t.Helper()
	p := &Project{Folder: filepath.Join(t.TempDir(), "greeter"), Language: language, Template: template, Version: "v0.1.0", SDK: repository}
	if _, err := p.Write(); err != nil {
		t.Fatal(err)
	}
	return p
}

// everyProject calls a test for each language with each template.
func everyProject(t *testing.T, test func(t *testing.T, language toolchains.Language, template Template)) {
	t.Helper()
	for _, language := range toolchains.Languages() {
		for _, template := range Templates() {
			t.Run(string(language)+"/"+string(template), func(t *testing.T) { test(t, language, template) })
		}
	}
}

func TestProjectsHaveAllFiles(t *testing.T) {
	everyProject(t, func(t *testing.T, language toolchains.Language, template Template) {
		p := &Project{Folder: filepath.Join(t.TempDir(), "greeter"), Language: language, Template: template, Version: "v0.1.0"}
		files, err := p.Write()
		if err != nil {
			t.Fatal(err)
		}
		names := sources[language]
		for _, name := range []string{names[0], cmp.Or(names[1], "Makefile"), "operator_test.yaml", "crd.yaml", "obj.yaml", "README.md", "Makefile", ".gitignore", ".github/workflows/test.yaml"} {
			if !slices.Contains(files, name) {
				t.Errorf("%s is missing among %v", name, files)
			}
		}
		for _, name := range files {
			text, err := os.ReadFile(filepath.Join(p.Folder, name))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "[["+".") || strings.Contains(string(text), "<no value>") {
				t.Errorf("%s has an unfinished place:\n%s", name, text)
			}
			if name == "README.md" && !strings.Contains(string(text), "kopf manifest oci://ghcr.io/ME/greeter:v1 -n default --name greeter ") {
				t.Errorf("scripts are named for their files, so all operators in one language would have one deployment:\n%s", text)
			}
			if strings.HasSuffix(name, ".yaml") && yaml.Unmarshal(text, &map[string]any{}) != nil {
				t.Errorf("%s is no YAML:\n%s", name, text)
			}
		}
		if found, err := toolchains.Find(p.Folder); err != nil || found.Language != language {
			t.Errorf("kopf build finds %+v, %v", found, err)
		}
	})
}

func TestPublishedSDKsHaveTheirVersions(t *testing.T) {
	for language, want := range map[toolchains.Language][2]string{
		toolchains.Go:   {"go.mod", "require github.com/kopf-wasm/kopf/guest-sdks/go v1.2.3\n"},
		toolchains.Rust: {"Cargo.toml", "kopf = \"1.2.3\"\n"},
	} {
		p := &Project{Folder: filepath.Join(t.TempDir(), "greeter"), Language: language, Template: Minimal, Version: "v1.2.3"}
		if _, err := p.Write(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(p.Folder, want[0]))
		if err != nil || !strings.Contains(string(text), want[1]) || strings.Contains(string(text), "replace") {
			t.Errorf("%s: %v\n%s", want[0], err, text)
		}
	}
}

// TestWorkflowsRunElsewhere checks what machines of GitHub lack: what engines are built with, and the clone of this machine.
func TestWorkflowsRunElsewhere(t *testing.T) {
	for language, want := range map[toolchains.Language]string{
		toolchains.Go:         `guest-sdks/go=$RUNNER_TEMP/kopf/guest-sdks/go"`,
		toolchains.Rust:       `path = \"$RUNNER_TEMP/kopf/guest-sdks/rust/kopf\"`,
		toolchains.JavaScript: "container: debian:bookworm",
		toolchains.Python:     "build engine-python\n",
	} {
		text, err := os.ReadFile(filepath.Join(written(t, language, Minimal).Folder, ".github", "workflows", "test.yaml"))
		if err != nil || !strings.Contains(string(text), want) || yaml.Unmarshal(text, &map[string]any{}) != nil {
			t.Errorf("%s: %v, want %q in\n%s", language, err, want, text)
		}
	}
}

func TestClonesInFoldersWithSpaces(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "my clones", "kopf")
	if err := os.MkdirAll(filepath.Join(clone, "guest-sdks"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &Project{Folder: filepath.Join(t.TempDir(), "greeter"), Language: toolchains.Go, Template: Minimal, Version: "v0.1.0", SDK: clone}
	if _, err := p.Write(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = p.Folder
	if output, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(output), clone) {
		t.Errorf("go.mod: %v\n%s", err, output)
	}
}

func TestBadNamesAreRefused(t *testing.T) {
	for _, name := range []string{"Greeter", "1st", "a_b", "a--b", "a-", "-a", "a b", "ü", "test", "core", "fn", "kopf", "target", strings.Repeat("a", maxName+1)} {
		p := &Project{Folder: filepath.Join(t.TempDir(), name), Language: toolchains.Go, Template: Minimal}
		if _, err := p.Write(); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := os.Stat(p.Folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: the folder is made: %v", name, err)
		}
	}
	for _, name := range []string{"a", "greeter", "my-2nd-operator", strings.Repeat("a", maxName)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
}

func TestFoldersThatAreNotEmptyAreRefused(t *testing.T) {
	p := written(t, toolchains.C, Minimal)
	before, err := os.ReadFile(filepath.Join(p.Folder, "main.c"))
	if err != nil {
		t.Fatal(err)
	}
	again := &Project{Folder: p.Folder, Language: toolchains.C, Template: Daemon, Version: "v0.1.0"}
	if _, err := again.Write(); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("%v", err)
	}
	if after, err := os.ReadFile(filepath.Join(p.Folder, "main.c")); err != nil || string(after) != string(before) {
		t.Errorf("a file was changed: %v", err)
	}
	empty := &Project{Folder: filepath.Join(t.TempDir(), "greeter"), Language: toolchains.C, Template: Daemon}
	if err := os.Mkdir(empty.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := empty.Write(); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestUnknownChoicesAreRefused(t *testing.T) {
	for _, p := range []*Project{{Language: "cobol", Template: Minimal}, {Language: toolchains.Go, Template: "huge"}} {
		p.Folder = filepath.Join(t.TempDir(), "greeter")
		if _, err := p.Write(); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "minimal") && !strings.Contains(err.Error(), "rust") {
			t.Errorf("%v", err)
		}
	}
	p := &Project{Folder: filepath.Join(t.TempDir(), "greeter"), Language: toolchains.Go, Template: Minimal, SDK: t.TempDir()}
	if _, err := p.Write(); !errors.Is(err, ErrNoSDK) {
		t.Errorf("%v", err)
	}
}

// TestProjectsAreBuilt builds what takes seconds; test/e2e builds and runs an operator in each
// language.
func TestProjectsAreBuilt(t *testing.T) {
	everyProject(t, func(t *testing.T, language toolchains.Language, template Template) {
		if language == toolchains.Rust || language == toolchains.AssemblyScript {
			return
		}
		p := written(t, language, template)
		found, err := toolchains.Find(p.Folder)
		if err != nil {
			t.Fatal(err)
		}
		module, source := found.Output(), operator.Source{}
		if found.Script != "" {
			engine := repository + "/bin/engines/" + string(language) + ".wasm"
			if _, err := os.Stat(engine); err != nil && os.Getenv("CI") != "true" {
				t.Skipf("there is no engine: make engines: %v", err)
			}
			module, source.Engine = found.Script, engine
		}
		if err := found.Build(t.Context(), module, t.Output()); err != nil {
			if errors.As(err, new(*toolchains.MissingError)) && os.Getenv("CI") != "true" {
				t.Skip(err)
			}
			t.Fatal(err)
		}
		loaded, err := operator.LoadFrom(t.Context(), source, []string{module}, host.Options{RegisterTimeout: registering})
		if err != nil {
			t.Fatal(err)
		}
		defer loaded[0].Close(t.Context())
		if len(loaded[0].Registration().Handlers) == 0 {
			t.Error("it registers nothing")
		}
		passItsTests(t, p)
	})
}

// passItsTests runs the tests of the project, by what runs them for its author.
func passItsTests(t *testing.T, p *Project) {
	t.Helper()
	command := map[toolchains.Language][]string{
		toolchains.Go: {"go", "test", "./..."}, toolchains.JavaScript: {"node", "--test"}, toolchains.Python: {"python3", "-m", "unittest"},
	}[p.Language]
	if command == nil {
		return // make test compares the registration
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Logf("its tests are not run: %v", err)
		return
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = p.Folder
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", command, err, output)
	}
}
