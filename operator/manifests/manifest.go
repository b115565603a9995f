// Package manifests reads manifests of Extism. A manifest is a file that names a module,
// configures it, and limits what it may use. The types and their JSON are those of Extism's
// SDK for Go. The SDK ignores unknown fields, and prefers one source of a module over another:
// this package refuses both.
//
// See https://extism.org/docs/concepts/manifest
package manifests

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	extism "github.com/extism/go-sdk"
	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedyaml"
)

// Manifest is a manifest that the host supports: it has exactly one module, as an
// extism.WasmFile or an extism.WasmData. In Memory, which is never nil, -1 stands for an absent
// number of bytes, and 0 for none; 0 pages and 0 milliseconds stand for the default.
type Manifest struct{ extism.Manifest }

// Is reports whether a file is a manifest, by its name.
func Is(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json", ".yaml", ".yml":
		return true
	}
	return false
}

// Parse reads a manifest. The extension of the path selects the format.
//
// Errors: unknown and unsupported fields, with their names; bounded.ErrTooMuch.
func Parse(path string, data []byte) (*Manifest, error) {
	text, err := toJSON(path, data)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&fields); err != nil {
		return nil, readable(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("unexpected content after the manifest")
	}
	if fields["apiVersion"] != nil && fields["kind"] != nil {
		return nil, fmt.Errorf("it is an object of Kubernetes: name a module or a script, and apply objects by kubectl; kopf serve runs WasmOperators of a folder")
	}
	if err := checkFields(fields); err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, &m.Manifest); err != nil {
		return nil, readable(err)
	}
	return m, m.check()
}

// maxValues bounds the values of a manifest in JSON.
const maxValues = 20_000

func toJSON(path string, data []byte) ([]byte, error) {
	if strings.EqualFold(filepath.Ext(path), ".json") {
		return data, bounded.JSON(data, maxValues)
	}
	if err := boundedyaml.Check(data); err != nil {
		return nil, err
	}
	return yaml.YAMLToJSONStrict(data)
}

func (m *Manifest) check() error {
	switch {
	case len(m.AllowedPaths) > 0:
		return fmt.Errorf("allowed_paths: not supported: modules cannot access files")
	case m.Memory.MaxPages > maxPages:
		return errPages
	}
	return nil
}

// maxPages is the largest memory that WebAssembly can address, in pages of 64 KiB.
const maxPages = 1 << 16

var errPages = fmt.Errorf("memory: max_pages: at most %d", maxPages)

// Module returns the bytes of the module. The function read reads a file by its path.
func (m *Manifest) Module(manifest string, read func(path string) ([]byte, error)) (wasm []byte, err error) {
	var hash string
	switch w := m.Wasm[0].(type) {
	case extism.WasmFile:
		path := w.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(manifest), path)
		}
		hash = w.Hash
		if wasm, err = read(path); err != nil {
			return nil, fmt.Errorf("wasm: %w", err)
		}
	case extism.WasmData:
		wasm, hash = w.Data, w.Hash
	default:
		return nil, fmt.Errorf("wasm: unsupported source %T: want path or data", w)
	}
	if sum := sha256.Sum256(wasm); hash != "" && !strings.EqualFold(hash, hex.EncodeToString(sum[:])) {
		return nil, fmt.Errorf("wasm: hash: the module has %s, not %s", hex.EncodeToString(sum[:]), hash)
	}
	return wasm, nil
}
