package projects

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"

	"github.com/kopf-wasm/kopf/operator/toolchains"
)

// templates has a folder for each language, and "common" for all of them. In it, "all" is for all
// templates, and the others are named as their templates.
//
//go:embed templates
var templates embed.FS

// ending is that of the embedded files, so that no compiler takes them for its own.
const ending = ".tmpl"

// facts are what the files of a project show.
type facts struct {
	*Project

	Name, Summary         string
	Source, Test, Product string
	CrateVersion          string
	Script                bool
	RunFlags              string // of kopf run and kopf dev
	ManifestFlags         string // of kopf manifest
}

var summaries = map[Template]string{
	Minimal:  "it notes the text of each greeting in its status.",
	Children: "it keeps a ConfigMap for each greeting.",
	Daemon:   "it repeats each greeting as long as the greeting exists.",
	Webhook:  "it checks and completes greetings before they are stored.",
}

// sources are the files of an operator and of the tests of its functions. Languages without a way to
// test functions have scenarios only.
var sources = map[toolchains.Language][2]string{
	toolchains.Go:             {"main.go", "main_test.go"},
	toolchains.Rust:           {"src/lib.rs", "src/lib.rs"},
	toolchains.JavaScript:     {"operator.js", "operator.test.js"},
	toolchains.Python:         {"handlers.py", "test_handlers.py"},
	toolchains.AssemblyScript: {"main.ts", ""},
	toolchains.C:              {"main.c", ""},
}

func (p *Project) facts() facts {
	names := sources[p.Language]
	f := facts{
		Project: p, Name: p.Name(), Summary: summaries[p.Template], Source: names[0], Test: names[1], Product: p.Name() + ".wasm",
		CrateVersion: strings.TrimPrefix(p.Version, "v"),
	}
	if p.Language == toolchains.JavaScript || p.Language == toolchains.Python {
		f.Script, f.Product = true, f.Source
	}
	switch p.Template {
	case Children:
		f.RunFlags, f.ManifestFlags = " --allow-wanted", " --allow-wanted"
	case Webhook:
		f.ManifestFlags = " --admission-managed " + f.Name + ".example.com"
		f.RunFlags = f.ManifestFlags + " --admission-server auto-server"
	case Minimal, Daemon:
	}
	return f
}

// files are the contents of all files, by their paths in the folder.
func (p *Project) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	about := p.facts()
	for _, part := range []string{"common/all", "common/" + string(p.Template), string(p.Language) + "/all", string(p.Language) + "/" + string(p.Template)} {
		root := "templates/" + part
		if _, err := fs.Stat(templates, root); err != nil {
			continue // not each language has files for all templates, nor each template for all languages
		}
		err := fs.WalkDir(templates, root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := render(name, about)
			if err != nil {
				return err
			}
			files[target(strings.TrimPrefix(name, root+"/"))] = content
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if p.Language == toolchains.Go && p.SDK != "" {
		files["go.sum"] = nil // nothing is downloaded
	}
	return files, nil
}

// target is the path of an embedded file in a project: dot-gitignore.tmpl is .gitignore.
func target(name string) string {
	parts := strings.Split(strings.TrimSuffix(name, ending), "/")
	for i, part := range parts {
		if rest, ok := strings.CutPrefix(part, "dot-"); ok {
			parts[i] = "." + rest
		}
	}
	return path.Join(parts...)
}

// render fills the facts in. The delimiters are texts that no language of the files has.
func render(name string, about facts) ([]byte, error) {
	text, err := templates.ReadFile(name)
	if err != nil {
		return nil, err
	}
	parsed, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("the template %s: %w", name, err)
	}
	var content bytes.Buffer
	if err := parsed.Execute(&content, about); err != nil {
		return nil, fmt.Errorf("the template %s: %w", name, err)
	}
	return content.Bytes(), nil
}
