package projects

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/operator/toolchains"
)

// Template is what a new operator does.
type Template string

// The templates.
const (
	Minimal  Template = "minimal"  // notes the text of each object in its status
	Children Template = "children" // keeps a ConfigMap for each object
	Daemon   Template = "daemon"   // runs as long as an object exists
	Webhook  Template = "webhook"  // checks and completes objects before they are stored
)

// Templates returns all templates, in the order of the manual.
func Templates() []Template { return []Template{Minimal, Children, Daemon, Webhook} }

// Errors of New.
var (
	ErrName     = errors.New("the name is not usable")
	ErrNotEmpty = errors.New("the folder is not empty")
	ErrNoSDK    = errors.New("it is no clone of kopf")
	ErrUnknown  = errors.New("it is unknown")
)

// Project is a new operator.
type Project struct {
	Folder   string              // to be made, or empty; its last part is the name of the operator
	Language toolchains.Language // one of toolchains.Languages
	Template Template            // one of Templates
	Version  string              // of the SDK, as in v0.1.0
	SDK      string              // a clone of kopf whose SDK is used instead; empty: the published one
}

// validName matches names that Go, Cargo, npm and Kubernetes accept.
var validName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxName bounds a name, so that it remains one in Kubernetes with what is added to it.
const maxName = 40

// reserved are names that compilers refuse, or that hide what the operator needs.
var reserved = []string{
	"alloc", "core", "kopf", "proc-macro", "std", "test", // crates and packages
	"abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else", "enum", "extern", "false",
	"final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self",
	"static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield", // keywords of Rust
	"build", "deps", "examples", "incremental", "target", // folders of Cargo
}

// CheckName refuses names that some tool refuses later, with a message that is harder to
// understand.
//
// Errors: ErrName.
func CheckName(name string) error {
	switch {
	case !validName.MatchString(name):
		return fmt.Errorf("%q: %w: want lower-case letters, digits, and - between them, beginning with a letter", name, ErrName)
	case len(name) > maxName:
		return fmt.Errorf("%q: %w: it has %d characters, and at most %d are possible", name, ErrName, len(name), maxName)
	case slices.Contains(reserved, name):
		return fmt.Errorf("%q: %w: compilers reserve it", name, ErrName)
	}
	return nil
}

// Name is the name of the operator.
func (p *Project) Name() string { return filepath.Base(p.Folder) }

// Write writes the files, and returns their paths in the folder, sorted. After a failure it leaves
// what it has written.
//
// # Errors
//
//   - ErrName, ErrUnknown: of the name; of the language or the template.
//   - ErrNotEmpty: something is in the folder. Nothing is written.
//   - ErrNoSDK: there is no SDK in the clone. Nothing is written.
//   - Others come from writing.
func (p *Project) Write() (written []string, err error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	for path, content := range files {
		target := filepath.Join(p.Folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return nil, err
		}
		written = append(written, path)
	}
	slices.Sort(written)
	return written, nil
}

func (p *Project) check() error {
	if err := CheckName(p.Name()); err != nil {
		return err
	}
	if !slices.Contains(toolchains.Languages(), p.Language) {
		return fmt.Errorf("the language %q: %w: want one of %s", p.Language, ErrUnknown, joined(toolchains.Languages()))
	}
	if !slices.Contains(Templates(), p.Template) {
		return fmt.Errorf("the template %q: %w: want one of %s", p.Template, ErrUnknown, joined(Templates()))
	}
	if err := p.checkFolder(); err != nil {
		return err
	}
	return p.checkSDK()
}

// joined lists words of any type.
func joined[Word ~string](words []Word) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

func (p *Project) checkFolder() error {
	entries, err := os.ReadDir(p.Folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s: %w: it has %s; choose another name, or remove what is in it", p.Folder, ErrNotEmpty, entries[0].Name())
	}
	return nil
}

// checkSDK makes the path of the clone absolute, and looks for the SDKs in it.
func (p *Project) checkSDK() error {
	if p.SDK == "" {
		return nil
	}
	absolute, err := filepath.Abs(p.SDK)
	if err != nil {
		return err
	}
	p.SDK = absolute
	if _, err := os.Stat(filepath.Join(absolute, "guest-sdks")); err != nil {
		return fmt.Errorf("%s: %w: want the folder that has guest-sdks", p.SDK, ErrNoSDK)
	}
	return nil
}
