package push

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	spec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/scripts/release/version"
)

// maxEngine bounds an engine, in bytes, as `kopf` bounds modules.
const maxEngine = 256 << 20

// engines makes an artifact of each module in the archive of the engines, by the name of its language. A release
// without the archive has none.
func engines(ctx context.Context, archive string, v version.Version) (map[string]*memory.Store, error) {
	file, err := os.Open(archive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", archive, err)
	}
	found := map[string]*memory.Store{}
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		language, isModule := strings.CutSuffix(path.Base(header.Name), ".wasm")
		if !isModule {
			continue
		}
		if found[language], err = engine(ctx, r, language, v); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", archive, header.Name, err)
		}
	}
}

// engine makes an artifact of a module, in the layout of operators. It has no declaration, because what an engine
// registers depends on the script.
func engine(ctx context.Context, from io.Reader, language string, v version.Version) (*memory.Store, error) {
	module, err := io.ReadAll(io.LimitReader(from, maxEngine))
	if err != nil {
		return nil, err
	}
	packed, err := layout.Pack(module, language+".wasm", map[string]string{
		layout.AnnotationVersion: string(v), spec.AnnotationSource: "https://github.com/kopf-wasm/kopf", spec.AnnotationDescription: "The engine of operators in " + language,
	})
	if err != nil {
		return nil, err
	}
	store := memory.New()
	for mediaType, blob := range map[string][]byte{layout.MediaConfig: packed.Config, layout.MediaModule: packed.Module, layout.MediaManifest: packed.Manifest} {
		if err := store.Push(ctx, content.NewDescriptorFromBytes(mediaType, blob), strings.NewReader(string(blob))); err != nil {
			return nil, err
		}
	}
	return store, store.Tag(ctx, content.NewDescriptorFromBytes(layout.MediaManifest, packed.Manifest), string(v))
}
