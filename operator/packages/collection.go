package packages

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// collection gathers the files of packages, by their paths in site-packages.
type collection struct {
	files   map[string][]byte
	natives map[string][]string // native files by the names of their distributions
	notes   []string
	size    int
	limit   int // of size, in bytes
}

func newCollection(limit int) *collection {
	return &collection{files: map[string][]byte{}, natives: map[string][]string{}, limit: limit}
}

// addPath adds a folder of wheels, a folder of packages, or one wheel.
func (c *collection) addPath(from string, folder bool) error {
	if !folder {
		return c.addWheel(from)
	}
	wheels, err := filepath.Glob(filepath.Join(escaped(from), "*.whl"))
	if err != nil {
		return err
	}
	if len(wheels) == 0 {
		return c.addFolder(from)
	}
	for _, wheel := range wheels { // sorted: later ones win, as with pip
		if err := c.addWheel(wheel); err != nil {
			return err
		}
	}
	return nil
}

// escaped makes a path a pattern that matches only the path.
func escaped(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// addFolder adds a folder that has packages as site-packages has them.
func (c *collection) addFolder(root string) error {
	root, err := filepath.EvalSymlinks(root) // of a link, WalkDir visits nothing else
	if err != nil {
		return err
	}
	natives := map[string]bool{}
	err = filepath.WalkDir(root, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, full)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case unused(rel):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file: symbolic links are not packed", rel)
		case isNative(rel):
			natives[rel] = true
			return nil
		}
		f, err := boundedfile.Open(full) // it may be a pipe now
		if err != nil {
			return err
		}
		return errors.Join(c.add(rel, f), f.Close())
	})
	if err != nil {
		return err
	}
	owners := ownersOf(root, natives)
	for native := range natives {
		c.addNative(owners[native], native)
	}
	return nil
}

// ownersOf returns the distributions that have installed files: by the lists of installed files, or else by the names of the folders.
func ownersOf(root string, installed map[string]bool) map[string]string {
	owners := map[string]string{}
	records, _ := filepath.Glob(filepath.Join(escaped(root), "*.dist-info", "RECORD")) // the pattern is valid
	for _, record := range records {
		if len(owners) == len(installed) {
			break
		}
		text, err := boundedfile.ReadNamed(record, boundedfile.MaxDocument)
		if err != nil {
			continue // the names of the folders are there
		}
		name, _, _ := strings.Cut(filepath.Base(filepath.Dir(record)), "-")
		for line := range strings.Lines(string(text)) {
			file, _, _ := strings.Cut(line, ",")
			if _, known := owners[file]; installed[file] && !known {
				owners[file] = name
			}
		}
	}
	for file := range installed {
		if owners[file] == "" {
			name, _, _ := strings.Cut(file, "/")
			owners[file], _, _ = strings.Cut(name, ".")
		}
	}
	return owners
}

// add adds a file of a package. It reads at most what is left of the limit.
func (c *collection) add(name string, content io.Reader) error {
	if err := files.CheckPath(name); err != nil {
		return err
	}
	if len(c.files) >= files.MaxFiles {
		return fmt.Errorf("%w: more than %d files", ErrTooLarge, files.MaxFiles)
	}
	data, err := io.ReadAll(io.LimitReader(content, int64(c.limit-c.size)+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if c.size += len(data); c.size > c.limit { // what is left out below counts, too: a wheel can have one long text in thousands of files
		return tooLarge(c.size, c.limit)
	}
	if path.Base(name) == "METADATA" && strings.HasSuffix(path.Dir(name), ".dist-info") {
		data = headers(data)
	}
	c.files[name] = data
	return nil
}

// headers returns metadata without the description, which is often a long text.
func headers(metadata []byte) []byte {
	metadata = bytes.ReplaceAll(metadata, []byte("\r\n"), []byte("\n"))
	if end := bytes.Index(metadata, []byte("\n\n")); end >= 0 {
		return metadata[:end+1]
	}
	return metadata
}

// unused reports whether a file or a folder of a package has no use in a sandbox.
func unused(name string) bool {
	base := path.Base(name)
	if dir := path.Dir(name); strings.HasSuffix(dir, ".dist-info") && !strings.Contains(dir, "/") {
		return !kept(base)
	}
	if strings.HasSuffix(path.Dir(path.Dir(name)), ".dist-info") {
		return false // a folder of licences
	}
	return strings.HasPrefix(base, ".") || base == "__pycache__" || name == "bin" || strings.HasSuffix(base, ".egg-info") ||
		slices.Contains([]string{".pyc", ".pyo", ".pyi", ".pth"}, path.Ext(base))
}

// kept reports whether a file of NAME-VERSION.dist-info is packed: what importlib.metadata
// reads, and licences, which must go with the code.
func kept(base string) bool {
	if slices.Contains([]string{"METADATA", "entry_points.txt", "top_level.txt", "licenses"}, base) {
		return true
	}
	for _, word := range []string{"LICEN", "COPYING", "NOTICE", "AUTHORS"} {
		if strings.HasPrefix(strings.ToUpper(base), word) {
			return true
		}
	}
	return false
}

// addNative records a file of native code.
func (c *collection) addNative(distribution, file string) {
	name := normal(distribution)
	c.natives[name] = append(c.natives[name], file)
}

// requiredBy returns a distribution that requires another one; empty if none does.
func (c *collection) requiredBy(name string) string {
	for _, path := range sortedKeys(c.files) {
		dist, ok := strings.CutSuffix(path, ".dist-info/METADATA")
		if !ok {
			continue
		}
		for line := range strings.Lines(string(c.files[path])) {
			required, ok := strings.CutPrefix(line, "Requires-Dist: ")
			if end := strings.IndexFunc(required, func(r rune) bool { return !isNameRune(r) && r != '-' && r != '.' }); ok && end >= 0 && normal(required[:end]) == name {
				return dist
			}
		}
	}
	return ""
}

// leaveOut replaces the modules of a distribution by ones that raise an error.
func (c *collection) leaveOut(name, by string) {
	modules := dispensable[name]
	for _, path := range sortedKeys(c.files) {
		top, _, _ := strings.Cut(path, "/")
		dist, _, _ := strings.Cut(strings.TrimSuffix(top, ".dist-info"), "-")
		if slices.ContainsFunc(modules, func(module string) bool { return path == module+".py" || strings.HasPrefix(path, module+"/") }) || strings.HasSuffix(top, ".dist-info") && normal(dist) == name {
			delete(c.files, path)
		}
	}
	for _, module := range modules {
		text := fmt.Sprintf("%s is native code, which the sandbox cannot load: %s", name, adviceFor(name))
		c.files[module+".py"] = fmt.Appendf(nil, "raise ModuleNotFoundError(%q, name=%q)\n", text, strings.ReplaceAll(module, "/", "."))
	}
	c.notes = append(c.notes, fmt.Sprintf("%s: it is native code, and left out, though %s requires it: what uses it raises an error", name, by))
}

// check refuses distributions that do not work without their native code.
func (c *collection) check() error {
	var refused []error
	for _, name := range sortedKeys(c.natives) {
		found := c.natives[name]
		slices.Sort(found)
		if optional[name] {
			c.notes = append(c.notes, fmt.Sprintf("%s: its pure part is packed, without %s", name, found[0]))
			continue
		}
		if by := c.requiredBy(name); by != "" && dispensable[name] != nil {
			c.leaveOut(name, by)
			continue
		}
		refused = append(refused, fmt.Errorf("%s has %w (%s), which the sandbox cannot load: %s", name, ErrNative, found[0], adviceFor(name)))
	}
	if len(refused) == 0 && len(c.files) == 0 {
		return errors.New("there are no packages in it")
	}
	return errors.Join(refused...)
}
