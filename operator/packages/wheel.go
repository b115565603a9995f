package packages

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// addWheel adds the content of a wheel, as pip would install it.
//
// See https://packaging.python.org/en/latest/specifications/binary-distribution-format/
func (c *collection) addWheel(file string) error {
	base := filepath.Base(file)
	parts := strings.Split(strings.TrimSuffix(base, ".whl"), "-")
	if n := len(parts); n != 5 && n != 6 {
		return fmt.Errorf("%s: not the name of a wheel: want NAME-VERSION-PYTHON-ABI-PLATFORM.whl", base)
	}
	if tag := parts[len(parts)-3]; !strings.Contains(tag, "py3") && !strings.Contains(tag, "cp3") {
		return fmt.Errorf("%s is for %s: the engine is Python 3.11", base, tag)
	}
	opened, err := boundedfile.Open(file)
	if err != nil {
		return err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", base)
	}
	archive, err := zip.NewReader(opened, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", base, err)
	}
	if len(archive.File) > files.MaxFiles {
		return fmt.Errorf("%s: %w: more than %d files", base, ErrTooLarge, files.MaxFiles)
	}
	seen := map[string]bool{}
	for _, f := range archive.File {
		if err := c.addMember(parts[0], parts[1], f, seen); err != nil {
			return fmt.Errorf("%s: %w", base, err)
		}
	}
	return nil
}

// addMember adds a file of a wheel.
func (c *collection) addMember(distribution, version string, f *zip.File, seen map[string]bool) error {
	if strings.HasSuffix(f.Name, "/") && f.UncompressedSize64 == 0 {
		return nil
	}
	if err := files.CheckPath(f.Name); err != nil {
		return err
	}
	if f.Mode()&fs.ModeType != 0 {
		return fmt.Errorf("%s is not a regular file: symbolic links are not packed", f.Name)
	}
	name, ok := installed(distribution, version, f.Name)
	switch {
	case seen[f.Name]:
		return fmt.Errorf("%s is in it twice", f.Name)
	case !ok || unusedIn(name):
		return nil
	case isNative(name):
		c.addNative(distribution, name)
		return nil
	}
	seen[f.Name] = true
	content, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer content.Close()
	return c.add(name, content)
}

// installed returns the path in site-packages of a member of a wheel; false if the member
// goes elsewhere, as scripts and headers do.
func installed(distribution, version, name string) (string, bool) {
	rest, inData := strings.CutPrefix(name, distribution+"-"+version+".data/")
	if !inData {
		return name, true
	}
	scheme, rest, _ := strings.Cut(rest, "/")
	return rest, scheme == "purelib" || scheme == "platlib"
}

// unusedIn reports whether a path or one of its folders is unused.
func unusedIn(name string) bool {
	for at := range len(name) + 1 {
		if (at == len(name) || name[at] == '/') && unused(name[:at]) {
			return true
		}
	}
	return false
}
