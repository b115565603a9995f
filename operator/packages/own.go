package packages

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/host/files"
)

// Own returns the modules of the author that a script imports from a folder, below Script:
// NAME.py, and all files of the package NAME/, if there is a statement `import NAME` or
// `from NAME import`, also in those modules. Other files of the folder are not read.
//
// Errors: ErrTooLarge if they exceed the limit.
func Own(root string, script []byte, limit int) (map[string][]byte, error) {
	if limit == 0 {
		limit = 16 << 20
	}
	c := newCollection(limit)
	asked := map[string]bool{}
	for todo := imported(string(script)); len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if asked[name] {
			continue
		}
		asked[name] = true
		added, err := c.addOwn(root, name)
		if err != nil {
			return nil, fmt.Errorf("import %s: %w", name, err)
		}
		for _, path := range added {
			if strings.HasSuffix(path, ".py") {
				todo = append(todo, imported(string(c.files[path]))...)
			}
		}
	}
	own := make(map[string][]byte, len(c.files))
	for path, data := range c.files {
		own[Script+path] = data
	}
	return own, nil
}

// addOwn adds a module or a package of a folder, if there is one, and returns its paths.
func (c *collection) addOwn(root, name string) (added []string, err error) {
	folder := filepath.Join(root, name)
	if info, err := os.Stat(folder); err == nil && info.IsDir() && isPackage(folder) {
		return c.addOwnPackage(root, folder)
	}
	path := name + ".py"
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, nil //nolint:nilerr // it is a module of the library or of a package
	}
	return []string{path}, c.add(path, strings.NewReader(string(data)))
}

// isPackage reports whether a folder has modules.
func isPackage(folder string) bool {
	found, err := filepath.Glob(filepath.Join(escaped(folder), "*.py"))
	return err == nil && len(found) > 0
}

func (c *collection) addOwnPackage(root, folder string) (added []string, err error) {
	err = filepath.WalkDir(folder, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, full)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case unused(rel) && entry.IsDir():
			return fs.SkipDir
		case unused(rel) || entry.IsDir() || isNative(rel) || files.CheckPath(rel) != nil:
			return nil
		}
		f, err := os.Open(full)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return err // a link to a folder
		}
		added = append(added, rel)
		return c.add(rel, f)
	})
	return added, err
}
