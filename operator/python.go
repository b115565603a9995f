package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/operator/packages"
	"github.com/kopf-wasm/kopf/operator/scripts"
)

// Python says what scripts in Python import.
type Python struct {
	// Packages packs the packages for the scripts. Nil: they have only the standard library.
	Packages *packages.Packer

	// Modules maps names of Options.Modules, which are files, to the modules that Python
	// imports in place of running the files: operator/handlers.py to operator.handlers. The
	// modules are looked for in the current directory.
	Modules map[string]string
}

// ModuleFile returns the file of a module by its name in Python, such as operator.handlers,
// in the current directory.
func ModuleFile(module string) (string, error) {
	if module == "" {
		return "", errors.New("want the name of a module, like operator.handlers")
	}
	base := filepath.Join(".", filepath.FromSlash(strings.ReplaceAll(module, ".", "/"))) // below it, whatever dots the name begins with
	for _, path := range []string{filepath.Join(base, "__init__.py"), base + ".py"} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("no module named %s: neither %s.py nor %s exists", module, base, filepath.Join(base, "__init__.py"))
}

// pack returns the name and the text of a script, and the files that it needs.
func (p Python) pack(ctx context.Context, name string, text, engine []byte) (string, []byte, map[string][]byte, error) {
	root, limit := filepath.Dir(name), 0
	if module := p.Modules[name]; module != "" {
		root, name, text = ".", module+".py", []byte("import "+module+"\n")
	}
	if p.Packages != nil {
		limit = p.Packages.MaxSize
	}
	packed, err := packages.Own(root, text, limit)
	if err != nil {
		return "", nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	found, err := p.Packages.Files(ctx, engine)
	if err != nil {
		return "", nil, nil, err
	}
	maps.Copy(packed, found)
	return name, text, packed, nil
}

// missingPackage is a part of the error of the engine if a script imports what is neither in the
// standard library nor packed.
const missingPackage = "the packages that are packed with the script"

// advise adds to the error of a script with a missing package how to pack packages, if none are
// packed: with the file next to the script that lists them, if there is one.
func (p Python) advise(name string, err error) error {
	if err == nil || !scripts.HasPackages(name) || !strings.Contains(err.Error(), missingPackage) || p.Packages != nil && p.Packages.From != "" {
		return err
	}
	for _, list := range []string{"requirements.txt", "pyproject.toml"} {
		path := filepath.Join(filepath.Dir(name), list)
		if _, missing := os.Stat(path); missing == nil {
			return fmt.Errorf("%w; %s is next to the script: pack its packages by --packages %s", err, list, path)
		}
	}
	return fmt.Errorf("%w: pack others by --packages with a requirements.txt, a wheel, or a folder of packages", err)
}
