package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// maxListed bounds the manifests that an index lists.
const maxListed = 100

// ErrImage says that content is neither a manifest nor an index of manifests.
var ErrImage = errors.New("not an image")

// Listed returns the manifests that an index lists, such as those of an image for several
// architectures. It returns none if the content is a manifest of an image, a chart or a module.
//
// Errors: ErrImage.
//
// See https://github.com/opencontainers/image-spec/blob/v1.1.1/image-index.md
func Listed(mediaType string, content []byte) ([]Descriptor, error) {
	if !slices.Contains(ManifestTypes, mediaType) {
		return nil, fmt.Errorf("%w: its type is %q", ErrImage, mediaType)
	}
	if err := CheckValues(content); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImage, err)
	}
	var index struct {
		MediaType string       `json:"mediaType"`
		Manifests []Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(content, &index); err != nil {
		return nil, fmt.Errorf("%w: it is not JSON: %w", ErrImage, err)
	}
	if index.MediaType != "" && index.MediaType != mediaType {
		return nil, fmt.Errorf("%w: it says that it is %s, the registry says %s", ErrImage, index.MediaType, mediaType)
	}
	if !slices.Contains(indexTypes, mediaType) {
		return nil, nil
	}
	if len(index.Manifests) > maxListed {
		return nil, fmt.Errorf("%w: it lists %d manifests, and the limit is %d", ErrImage, len(index.Manifests), maxListed)
	}
	for _, d := range index.Manifests {
		if !slices.Contains(ManifestTypes, d.MediaType) || !ValidDigest(d.Digest) || d.Size < 0 {
			return nil, fmt.Errorf("%w: it lists %q of the type %q", ErrImage, d.Digest, d.MediaType)
		}
	}
	return index.Manifests, nil
}
