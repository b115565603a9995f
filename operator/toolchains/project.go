package toolchains

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Language is a language of operators, by the name that authors write.
type Language string

// The languages.
const (
	Go             Language = "go"
	Rust           Language = "rust"
	JavaScript     Language = "javascript"
	Python         Language = "python"
	AssemblyScript Language = "assemblyscript"
	C              Language = "c"
)

// Languages returns all languages, in the order of the manual.
func Languages() []Language {
	return []Language{Go, Rust, JavaScript, Python, AssemblyScript, C}
}

// Project is the source of one operator.
type Project struct {
	Folder   string // absolute
	Language Language
	Script   string // the path of the script; empty for languages that are compiled

	crate manifest // of Rust
}

// Errors of Find.
var (
	ErrNoProject   = errors.New("there is no operator")
	ErrManyScripts = errors.New("there are several scripts, and none has a name that says where the operator begins")
)

// entries are the names of scripts at which an operator begins, without their endings, in the
// order of preference.
var entries = []string{"operator", "handlers", "main", "index"}

// scriptEndings are those of the languages without a build.
var scriptEndings = map[string]Language{".js": JavaScript, ".mjs": JavaScript, ".py": Python}

// Find finds the operator in a folder, or behind the path of a script.
//
// # Errors
//
//   - ErrNoProject: the folder has no source that the package knows.
//   - ErrManyScripts: there are several scripts, and no name says which one is the operator.
//   - Others come from reading the folder.
func Find(path string) (*Project, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		language, ok := scriptEndings[filepath.Ext(absolute)]
		if !ok {
			return nil, fmt.Errorf("%s: %w: name the folder of its source, or a script (.js, .py)", path, ErrNoProject)
		}
		return &Project{Folder: filepath.Dir(absolute), Language: language, Script: absolute}, nil
	}
	return inFolder(path, absolute)
}

func inFolder(shown, folder string) (*Project, error) {
	p := &Project{Folder: folder}
	switch {
	case p.has("go.mod"):
		p.Language = Go
	case p.has("Cargo.toml"):
		p.Language = Rust
		return p, p.crate.read(filepath.Join(folder, "Cargo.toml"))
	case p.usesAssemblyScript():
		p.Language = AssemblyScript
	case len(p.files(".c")) > 0:
		p.Language = C
	default:
		return p, p.findScript(shown)
	}
	return p, nil
}

// Name is the name of the operator: that of its folder.
func (p *Project) Name() string { return filepath.Base(p.Folder) }

// Output is the path of the module when none is given: it is named as the folder. It is empty for
// scripts, which need none.
func (p *Project) Output() string {
	if p.Script != "" {
		return ""
	}
	return filepath.Join(p.Folder, p.Name()+".wasm")
}

// Product is what kopf run takes after a build: the module, or the script. It is empty if the module
// is not built yet.
func (p *Project) Product() string {
	if p.Script != "" {
		return p.Script
	}
	if output := p.Output(); isRegular(output) {
		return output
	}
	return ""
}

// Build compiles the operator into a module at an absolute path. The outputs of the tools go to
// one writer, unchanged. The file is replaced at once, and after a failure it is the earlier one.
// A script is not built: Build does nothing.
//
// # Errors
//
//   - *MissingError: a tool is not installed.
//   - ErrFailed: a tool has failed, and has said why.
func (p *Project) Build(ctx context.Context, output string, messages io.Writer) error {
	if p.Script != "" {
		return nil
	}
	folder, err := os.MkdirTemp(filepath.Dir(output), ".new-*") // of this build alone: others may write to the folder of the output
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a remainder does no harm
	unfinished := filepath.Join(folder, filepath.Base(output))
	if err := p.compile(ctx, unfinished, messages); err != nil {
		return err
	}
	return os.Rename(unfinished, output)
}

func (p *Project) compile(ctx context.Context, output string, messages io.Writer) error {
	switch p.Language {
	case Go:
		return p.buildGo(ctx, output, messages)
	case Rust:
		return p.buildRust(ctx, output, messages)
	case AssemblyScript:
		return p.buildAssemblyScript(ctx, output, messages)
	case C:
		return p.buildC(ctx, output, messages)
	case JavaScript, Python:
	}
	return fmt.Errorf("the language %q has no build", p.Language)
}

func (p *Project) has(name string) bool { return isRegular(filepath.Join(p.Folder, name)) }

// files are the files of the folder with an ending, without those that test others.
func (p *Project) files(ending string) []string {
	paths, _ := filepath.Glob(filepath.Join(escaped(p.Folder), "*"+ending)) // the pattern is valid
	return slices.DeleteFunc(paths, isTest)
}

// escaped is a folder as a part of a pattern.
func escaped(folder string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(folder)
}

// isTest reports whether a file holds tests by the customs of its language.
func isTest(path string) bool {
	name := filepath.Base(path)
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	return strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, ".test") || stem == "conftest" || stem == "setup"
}

// usesAssemblyScript reports whether package.json has the compiler among its dependencies.
func (p *Project) usesAssemblyScript() bool {
	text, err := os.ReadFile(filepath.Join(p.Folder, "package.json"))
	if err != nil {
		return false
	}
	var described struct{ Dependencies, DevDependencies map[string]any }
	if json.Unmarshal(text, &described) != nil {
		return bytes.Contains(text, []byte(`"assemblyscript"`)) // npm says what is wrong with it
	}
	_, runtime := described.Dependencies["assemblyscript"]
	_, development := described.DevDependencies["assemblyscript"]
	return runtime || development
}

// findScript finds the script at which an operator begins.
func (p *Project) findScript(shown string) error {
	var all []string
	for _, ending := range []string{".py", ".js", ".mjs"} {
		all = append(all, p.files(ending)...)
	}
	for _, entry := range entries {
		for _, path := range all {
			if name := filepath.Base(path); strings.TrimSuffix(name, filepath.Ext(name)) == entry {
				all = []string{path}
			}
		}
	}
	switch len(all) {
	case 0:
		return fmt.Errorf("%s: %w: none of go.mod, Cargo.toml, package.json with assemblyscript, *.c, *.js, *.py is in it; kopf new writes one", shown, ErrNoProject)
	case 1:
		p.Script, p.Language = all[0], scriptEndings[filepath.Ext(all[0])]
		return nil
	}
	for i, path := range all {
		all[i] = filepath.Base(path)
	}
	return fmt.Errorf("%s: %w: %s; name one of them instead of the folder", shown, ErrManyScripts, strings.Join(all, ", "))
}
