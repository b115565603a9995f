package image

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	spec "github.com/opencontainers/image-spec/specs-go/v1"
)

// layout is a folder with an image layout that is being written.
type layout struct{ folder string }

func newLayout(folder string) (*layout, error) {
	if existing, err := os.ReadDir(folder); err == nil && len(existing) > 0 {
		return nil, fmt.Errorf("%s is not empty: remove it", folder)
	}
	if err := os.MkdirAll(filepath.Join(folder, spec.ImageBlobsDir, string(digest.SHA256)), 0o755); err != nil {
		return nil, err
	}
	return &layout{folder}, nil
}

// add stores content by its digest. Content that exists is not written again.
func (l *layout) add(mediaType string, content []byte) (spec.Descriptor, error) {
	sum := digest.FromBytes(content)
	path := filepath.Join(l.folder, spec.ImageBlobsDir, string(digest.SHA256), sum.Encoded())
	described := spec.Descriptor{MediaType: mediaType, Digest: sum, Size: int64(len(content))}
	if _, err := os.Stat(path); err == nil {
		return described, nil
	}
	return described, os.WriteFile(path, content, 0o644)
}

func (l *layout) addJSON(mediaType string, document any) (spec.Descriptor, error) {
	text, err := json.Marshal(document) // sorts the keys of maps
	if err != nil {
		return spec.Descriptor{}, err
	}
	return l.add(mediaType, text)
}

// finish writes the entry points of the layout.
func (l *layout) finish(tagged []spec.Descriptor) error {
	for name, document := range map[string]any{
		spec.ImageLayoutFile: spec.ImageLayout{Version: spec.ImageLayoutVersion},
		spec.ImageIndexFile:  spec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: spec.MediaTypeImageIndex, Manifests: tagged},
	} {
		text, err := json.Marshal(document)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(l.folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
