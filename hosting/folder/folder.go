// Package folder reads declarations from the manifests of a folder, and follows their
// changes. The folder is looked at, not watched: see RATIONALE.md, "Why are files looked at,
// and not watched?"
package folder

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// lookInterval is the interval between two looks at the folder.
const lookInterval = 250 * time.Millisecond

// retryInterval is the interval between two attempts to read a folder that is invalid and does not change: 10,000 manifests take a second.
const retryInterval = 5 * time.Second

// Limits of a folder.
const (
	maxFile  = 4 << 20 // bytes of a manifest
	maxFiles = 10_000
)

// Source reads the files *.yaml, *.yml and *.json of one folder, without those of its
// subfolders. A file may have several documents.
type Source struct {
	dir   string
	log   zerolog.Logger
	known map[hosting.Key]bool
	seen  []string // the files that were looked at: the manifests and their modules
	marks string   // their states then; empty: they are read at the next look
	last  string   // the problems at the last look; empty: none

	failure error // why the folder cannot be read; nil: it can
	tried   time.Time
	broken  string // the states of the files then
}

// New creates a source.
func New(dir string, log zerolog.Logger) *Source {
	return &Source{dir: dir, log: log.With().Str("logger", "kopf.hosting").Logger(), known: map[hosting.Key]bool{}}
}

// Run declares what the folder has, until the context ends. A folder or a file that is
// invalid at the first look is an error. Later, the log names it, and what was declared
// before stays.
func (s *Source) Run(ctx context.Context, to hosting.Sink) error {
	if err := s.look(to); err != nil {
		return err
	}
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.note(s.look(to))
		case <-ctx.Done():
			return nil
		}
	}
}

// Report does nothing: a folder has no status, and the log tells the same.
func (*Source) Report(hosting.Key, *api.Status) {}

// note logs problems once, and their end.
func (s *Source) note(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == s.last:
	case err == nil:
		s.log.Info().Msg("The folder can be read again.")
	default:
		s.log.Error().Err(err).Msg("The folder has changed, and cannot be read; what was declared before continues.")
	}
	s.last = text
}

// look declares what the folder has now.
func (s *Source) look(to hosting.Sink) error {
	marks := s.state()
	switch {
	case marks == s.marks:
		return nil
	case s.failure != nil && marks == s.broken && time.Since(s.tried) < retryInterval:
		return s.failure
	}
	s.marks = ""
	found, err := Read(s.dir)
	if s.failure = err; err != nil {
		s.tried, s.broken = time.Now(), marks
		return err
	}
	if seen := modulesOf(found); slices.Equal(seen, s.seen) {
		s.marks = marks // those before the reading: what has changed meanwhile is read at the next look
	} else {
		s.seen = seen // the next look reads again: only then are the states of the modules before the reading known
	}
	present := map[hosting.Key]bool{}
	for _, d := range found {
		present[d.Key] = true
		to.Declare(d)
	}
	for key := range s.known {
		if !present[key] {
			to.Remove(key)
		}
	}
	if s.known = present; len(found) == 0 {
		s.log.Warn().Msg("The folder declares no operators: put manifests (*.yaml, *.yml, *.json) of WasmOperators into it.")
	}
	return nil
}

// state describes the files of the folder, and the modules of the declarations.
func (s *Source) state() string {
	var text strings.Builder
	names := slices.Clone(s.seen)
	entries, err := os.ReadDir(s.dir)
	fmt.Fprintln(&text, err)
	for _, entry := range entries {
		if isManifest(entry.Name()) {
			names = append(names, filepath.Join(s.dir, entry.Name()))
		}
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintln(&text, name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return text.String()
}

// modulesOf lists the files that are modules.
func modulesOf(all []hosting.Declaration) []string {
	var names []string
	for _, d := range all {
		if !d.Spec.IsArtifact() {
			names = append(names, filepath.Join(d.Local, d.Spec.Module))
		}
	}
	return names
}

// Read reads the declarations of a folder.
//
// Errors name the file, and both files of a name that is declared twice.
func Read(dir string) ([]hosting.Declaration, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("%s: %d files; at most %d", dir, len(entries), maxFiles)
	}
	var all []hosting.Declaration
	var errs []error
	from := map[hosting.Key]string{}
	for _, entry := range entries {
		if !isManifest(entry.Name()) {
			continue
		}
		declared, err := readFile(dir, entry.Name())
		errs = append(errs, err)
		for _, d := range declared {
			if other, twice := from[d.Key]; twice {
				errs = append(errs, fmt.Errorf("%s is declared twice: in %s and in %s", d.Key, other, entry.Name()))
				continue
			}
			from[d.Key] = entry.Name()
			all = append(all, d)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return all, nil
}

// isManifest tells manifests by their names. Editors and Kubernetes' volumes have files that
// begin with a dot.
func isManifest(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

func readFile(dir, name string) ([]hosting.Declaration, error) {
	text, err := boundedfile.ReadNamed(filepath.Join(dir, name), maxFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // it was removed meanwhile
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var declared []hosting.Declaration
	for i, document := range documents(text) {
		d, err := declarationOf(dir, document)
		if err != nil {
			return nil, fmt.Errorf("%s, document %d: %w", name, i+1, err)
		}
		declared = append(declared, *d)
	}
	return declared, nil
}

// documents splits a file into its documents that have more than comments: many files begin with
// a comment and a separator.
func documents(text []byte) [][]byte {
	var all [][]byte
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if !isBlank(document) {
			all = append(all, bytes.Clone(document))
		}
		if err != nil { // the end: memory has no other errors
			return all
		}
	}
}

// isBlank reports whether a document has only comments, empty lines and its separator.
func isBlank(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return false
		}
	}
	return true
}

func declarationOf(dir string, document []byte) (*hosting.Declaration, error) {
	o, err := api.DecodeYAML(document)
	if err == nil {
		err = o.Check(true)
	}
	if err != nil {
		return nil, err
	}
	d := &hosting.Declaration{Key: hosting.Key{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}, Spec: o.Spec, Local: dir}
	d.Generation, err = generation(dir, &o.Spec, document)
	return d, err
}

// generation identifies the content of a declaration: the document, and the state of the
// module if it is a file.
func generation(dir string, spec *api.Spec, document []byte) (int64, error) {
	sum := sha256.New()
	sum.Write(document)
	if !spec.IsArtifact() {
		if !filepath.IsLocal(spec.Module) {
			return 0, fmt.Errorf("spec.module: %q: want a file of this folder, or a reference like oci://ghcr.io/me/operator:v1", spec.Module)
		}
		info, err := os.Stat(filepath.Join(dir, spec.Module))
		if err != nil {
			return 0, fmt.Errorf("spec.module: %w: want a file of this folder, or a reference like oci://ghcr.io/me/operator:v1", err)
		}
		if info.IsDir() {
			return 0, fmt.Errorf("spec.module: %q is a folder: name a module or a script in it", spec.Module)
		}
		fmt.Fprintf(sum, "%d %d", info.Size(), info.ModTime().UnixNano())
	}
	return int64(binary.BigEndian.Uint64(sum.Sum(nil)) >> 1), nil //nolint:gosec // the shift leaves 63 bits
}
