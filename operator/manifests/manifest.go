// Package manifests reads manifests of Extism: files beside a module that say
// which one it is, how it is configured, and what it may use.
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

// Manifest is what a manifest says.
type Manifest struct {
	Wasm   []Module          `json:"wasm"` // exactly one
	Memory Memory            `json:"memory"`
	Config map[string]string `json:"config"`

	// AllowedHosts are what the module wants to reach, as for kopf run --allow-host.
	// It gets them from whoever runs it.
	AllowedHosts []string `json:"allowed_hosts"`

	// AllowedPaths must be empty: modules have no files.
	AllowedPaths map[string]string `json:"allowed_paths"`

	// TimeoutMS bounds how long one call computes, in milliseconds; 0: the default.
	TimeoutMS int64 `json:"timeout_ms"`
}

// Module says where a module is: in a file, relative to the manifest, or in base64.
type Module struct {
	Path string `json:"path"`
	Data string `json:"data"`
	URL  string `json:"url"`  // refused: nothing is downloaded
	Hash string `json:"hash"` // SHA-256 in hexadecimal digits; empty: any
	Name string `json:"name"` // main, or anything: there is only one
}

// Memory are limits of a module; nil or 0 leaves the default.
type Memory struct {
	MaxPages             int64 `json:"max_pages"` // of 64 KiB
	MaxHTTPResponseBytes int64 `json:"max_http_response_bytes"`
	MaxVarBytes          int64 `json:"max_var_bytes"`
}

// Is tells whether a file is a manifest, by its name.
func Is(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json", ".yaml", ".yml":
		return true
	}
	return false
}

// Parse reads a manifest in the format that its name tells.
//
// Errors: unknown fields, and whatever cannot be done here, by their names; bounded.ErrTooMuch.
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
		return nil, fmt.Errorf("there is something after the manifest")
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
		return fmt.Errorf("wasm: %d modules; a plugin is one: link them when it is built", len(m.Wasm))
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
		return fmt.Errorf("wasm: url: nothing is downloaded: name a file, or run an artifact (oci://…)")
	case len(m.AllowedPaths) > 0:
		return fmt.Errorf("allowed_paths: modules have no files")
	case m.TimeoutMS < 0 || m.Memory.MaxPages < 0 || m.Memory.MaxHTTPResponseBytes < 0 || m.Memory.MaxVarBytes < 0:
		return fmt.Errorf("limits cannot be negative")
	case m.Memory.MaxPages > maxPages:
		return fmt.Errorf("memory: max_pages: at most %d", maxPages)
	}
	return nil
}

// maxPages is the memory that WebAssembly can address.
const maxPages = 1 << 16

// Module gets the bytes of the module: read reads a file by its path.
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
