package packages

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/kopf-wasm/kopf/host/files"
)

// Own returns the modules of the author that a script imports from a folder, below Script:
// NAME.py, and all files of the package NAME/, if there is a statement `import NAME` or
// `from NAME import`, also in those modules. Other files of the folder are not read, and none
// outside of it: the folder can come from others, and the script sees what is packed.
//
// Errors: ErrTooLarge if they exceed the limit; a link that leads out of the folder.
func Own(folder string, script []byte, limit int) (map[string][]byte, error) {
	if limit == 0 {
		limit = 16 << 20
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return map[string][]byte{}, nil //nolint:nilerr // there are no modules next to the script
	}
	defer root.Close()
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
func (c *collection) addOwn(root *os.Root, name string) (added []string, err error) {
	if info, err := root.Stat(name); err == nil && info.IsDir() && isPackage(root, name) {
		return c.addOwnPackage(root, name)
	}
	path := name + ".py"
	if _, err := root.Lstat(path); err != nil {
		return nil, nil //nolint:nilerr // it is a module of the library or of a package
	}
	if isFile, err := c.addOwnFile(root, path); !isFile || err != nil {
		return nil, err
	}
	return []string{path}, nil
}

// addOwnFile adds a file, unless the path is a folder, a pipe or a device.
func (c *collection) addOwnFile(root *os.Root, path string) (isFile bool, err error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false, fmt.Errorf("%w: a link must lead to a file of this folder", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	return true, c.add(path, f)
}

// isPackage reports whether a folder has modules.
func isPackage(root *os.Root, name string) bool {
	found, err := fs.Glob(root.FS(), name+"/*.py")
	return err == nil && len(found) > 0
}

func (c *collection) addOwnPackage(root *os.Root, name string) (added []string, err error) {
	err = fs.WalkDir(root.FS(), name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case unused(path) && entry.IsDir():
			return fs.SkipDir
		case unused(path) || entry.IsDir() || isNative(path) || files.CheckPath(path) != nil:
			return nil
		}
		isFile, err := c.addOwnFile(root, path)
		if isFile {
			added = append(added, path)
		}
		return err
	})
	return added, err
}
