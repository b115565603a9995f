// Package manifests reads manifests of Extism. A manifest is a file that names a module,
// configures it, and limits what it may use.
//
// See https://extism.org/docs/concepts/manifest
package manifests

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedyaml"
)

// Manifest is the content of a manifest.
type Manifest struct {
	Wasm   []Module          `json:"wasm"` // exactly one
	Memory Memory            `json:"memory"`
	Config map[string]string `json:"config"`

	// AllowedHosts are the hosts that the module wants to reach, in the syntax of kopf run
	// --allow-host. The administrator of the operator grants them.
	AllowedHosts []string `json:"allowed_hosts"`

	// AllowedPaths must be empty: modules have no files.
	AllowedPaths map[string]string `json:"allowed_paths"`

	// TimeoutMS bounds the computing time of one call, in milliseconds; 0: the default.
	TimeoutMS int64 `json:"timeout_ms"`
}

// Module is the location of a module: a file relative to the manifest, or base64 data.
type Module struct {
	Path string `json:"path"`
	Data string `json:"data"`
	URL  string `json:"url"`  // refused: nothing is downloaded
	Hash string `json:"hash"` // SHA-256 in hexadecimal digits; empty: any
	Name string `json:"name"` // main, or anything: there is only one
}

// Memory bounds the memory of a module. Nil or 0 keeps the default.
type Memory struct {
	MaxPages             int64 `json:"max_pages"` // of 64 KiB
	MaxHTTPResponseBytes int64 `json:"max_http_response_bytes"`
	MaxVarBytes          int64 `json:"max_var_bytes"`
}

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
	m := &Manifest{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(m); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("unexpected content after the manifest")
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
	if len(m.Wasm) != 1 {
		return fmt.Errorf("wasm: %d modules: want exactly one: link the modules of a plugin at build time", len(m.Wasm))
	}
	w := m.Wasm[0]
	given := 0
	for _, source := range []string{w.Path, w.Data, w.URL} {
		if source != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("wasm: want either path or data")
	case w.URL != "":
		return fmt.Errorf("wasm: url: downloads are not supported: use path, or run an artifact (oci://…)")
	case len(m.AllowedPaths) > 0:
		return fmt.Errorf("allowed_paths: not supported: modules cannot access files")
	case m.TimeoutMS < 0 || m.Memory.MaxPages < 0 || m.Memory.MaxHTTPResponseBytes < 0 || m.Memory.MaxVarBytes < 0:
		return fmt.Errorf("limits cannot be negative")
	case m.Memory.MaxPages > maxPages:
		return fmt.Errorf("memory: max_pages: at most %d", maxPages)
	}
	return nil
}

// maxPages is the largest memory that WebAssembly can address, in pages.
const maxPages = 1 << 16

// Module returns the bytes of the module. The function read reads a file by its path.
func (m *Manifest) Module(manifest string, read func(path string) ([]byte, error)) (wasm []byte, err error) {
	w := m.Wasm[0]
	if w.Path != "" {
		path := w.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(manifest), path)
		}
		wasm, err = read(path)
	} else {
		wasm, err = base64.StdEncoding.DecodeString(w.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("wasm: %w", err)
	}
	if sum := sha256.Sum256(wasm); w.Hash != "" && !strings.EqualFold(w.Hash, hex.EncodeToString(sum[:])) {
		return nil, fmt.Errorf("wasm: hash: the module has %s, not %s", hex.EncodeToString(sum[:]), w.Hash)
	}
	return wasm, nil
}
