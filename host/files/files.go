// Package files embeds files into a module, in a custom section. An engine of scripts reads
// its packages from there, one file at a time, so a guest has in its memory only what it uses.
// The package is pure: bytes in, bytes out.
package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/host/sections"
)

// Section is the name of the custom section. A module has at most one such section. Its
// content is a list of files, sorted by their paths, without duplicates: for each file, the
// length of the path as a little-endian number of 4 bytes, the path, the size in the same
// form, and the content.
const Section = "dev.kopf.files"

// Limits of the files of a module.
const (
	MaxPath  = 1 << 10 // of a path, in bytes
	MaxFiles = 50_000  // of the number of files
)

// ErrMalformed says that the section cannot be read.
var ErrMalformed = errors.New("malformed files in the module")

// Set holds the files of a module. It does not change. A nil Set is empty.
type Set struct {
	paths []string // sorted
	files map[string][]byte
	list  []byte
	size  int
}

// File returns the content of a file. The caller must not change it.
func (s *Set) File(path string) (content []byte, found bool) {
	if s == nil {
		return nil, false
	}
	content, found = s.files[path]
	return content, found
}

// List returns the paths of all files, sorted, each with a line feed. The caller must not
// change it.
func (s *Set) List() []byte {
	if s == nil {
		return nil
	}
	return s.list
}

// Paths returns the sorted paths of all files. The caller must not change them.
func (s *Set) Paths() []string {
	if s == nil {
		return nil
	}
	return s.paths
}

// Size returns the size of the section in bytes.
func (s *Set) Size() int {
	if s == nil {
		return 0
	}
	return s.size
}

// Read returns the files of a module, or nil if it has none. Modules with equal files share
// them while one of the modules uses them. The Set does not share memory with the module.
//
// Errors: ErrMalformed.
func Read(wasm []byte) (*Set, error) {
	content, err := sections.Find(wasm, Section)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if content == nil {
		return nil, nil
	}
	return shared.get(content, parse)
}

// parse reads the content of the section.
func parse(content []byte) (*Set, error) {
	s := &Set{files: map[string][]byte{}, size: len(content)}
	for rest := content; len(rest) > 0; {
		var path, data []byte
		var ok bool
		if path, rest, ok = cut(rest); ok {
			data, rest, ok = cut(rest)
		}
		switch {
		case !ok:
			return nil, fmt.Errorf("%w: file %d is cut off", ErrMalformed, len(s.paths))
		case len(s.paths) == MaxFiles:
			return nil, fmt.Errorf("%w: more than %d files", ErrMalformed, MaxFiles)
		}
		if err := s.add(string(path), data); err != nil {
			return nil, err
		}
	}
	if len(s.paths) > 0 {
		s.list = []byte(strings.Join(s.paths, "\n") + "\n")
	}
	return s, nil
}

// cut cuts a part with its length off.
func cut(content []byte) (part, rest []byte, ok bool) {
	if len(content) < 4 {
		return nil, nil, false
	}
	size := uint64(binary.LittleEndian.Uint32(content))
	content = content[4:]
	if size > uint64(len(content)) {
		return nil, nil, false
	}
	return content[:size:size], content[size:], true
}

func (s *Set) add(path string, data []byte) error {
	if err := CheckPath(path); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if n := len(s.paths); n > 0 && s.paths[n-1] >= path {
		return fmt.Errorf("%w: %q does not come after %q", ErrMalformed, path, s.paths[n-1])
	}
	s.paths, s.files[path] = append(s.paths, path), data
	return nil
}

// CheckPath returns an error for a path that a file cannot have: it must be relative and
// clean, with slashes, in UTF-8 without control characters, and at most MaxPath long.
func CheckPath(path string) error {
	switch {
	case path == "" || len(path) > MaxPath:
		return fmt.Errorf("a path of %d bytes: want 1–%d", len(path), MaxPath)
	case !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }):
		return fmt.Errorf("invalid characters in the path %q", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("the path %q is not relative and clean", path)
		}
	}
	return nil
}

// Embed returns the module with the files, which replace existing ones. Without files, the
// module has no section. Equal files give equal bytes.
//
// Errors: ErrMalformed if the input is not a module, or if a path or the number of files is
// invalid.
func Embed(wasm []byte, files map[string][]byte) ([]byte, error) {
	bare, err := sections.Remove(wasm, Section)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if len(files) == 0 {
		return bare, nil
	}
	content, err := Pack(files)
	if err != nil {
		return nil, err
	}
	return sections.Append(bare, Section, content), nil
}

// Pack returns the content of the section for files by their paths.
//
// Errors: ErrMalformed.
func Pack(files map[string][]byte) ([]byte, error) {
	if len(files) > MaxFiles {
		return nil, fmt.Errorf("%w: %d files; at most %d", ErrMalformed, len(files), MaxFiles)
	}
	size := 0
	for path, data := range files {
		if err := CheckPath(path); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		size += 8 + len(path) + len(data)
	}
	content := make([]byte, 0, size)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		content = binary.LittleEndian.AppendUint32(content, uint32(len(path)))
		content = append(content, path...)
		content = binary.LittleEndian.AppendUint32(content, uint32(len(files[path])))
		content = append(content, files[path]...)
	}
	return content, nil
}

// Unpack returns the files of the content of a section.
//
// Errors: ErrMalformed.
func Unpack(content []byte) (map[string][]byte, error) {
	s, err := parse(content)
	if err != nil {
		return nil, err
	}
	return s.files, nil
}
