package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"oras.land/oras-go/v2/registry/remote"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// Manifest is a validated manifest of a module.
type Manifest struct {
	Reference Reference         // with the digest
	Raw       []byte            // the bytes that the digest is computed from
	Parsed    *layout.Manifest  // the decoded bytes
	Module    layout.Descriptor // the layer with the module
}

// Descriptor returns the descriptor of the manifest.
func (m *Manifest) Descriptor() layout.Descriptor {
	return layout.Descriptor{MediaType: layout.MediaManifest, Digest: m.Reference.Digest, Size: int64(len(m.Raw))}
}

// Lean returns what fetching the module needs: the reference, and the size and the digest of the
// module. A manifest of a registry can have megabytes of other fields.
func (m *Manifest) Lean() *Manifest {
	module := layout.Descriptor{MediaType: m.Module.MediaType, Digest: m.Module.Digest, Size: m.Module.Size}
	return &Manifest{Reference: m.Reference, Parsed: &layout.Manifest{Layers: []layout.Descriptor{module}}, Module: module}
}

// Manifest reads the manifest of a module. It resolves a tag. If the reference has a digest,
// the digest takes precedence.
//
// Errors: ErrNotFound, ErrDenied, ErrUnavailable, ErrTampered, ErrLayout.
func (c *Client) Manifest(ctx context.Context, r Reference) (*Manifest, error) {
	repo, err := c.repository(ctx, r)
	if err != nil {
		return nil, explained(r, err)
	}
	raw, parsed, err := fetchManifest(ctx, repo, r)
	if err != nil {
		return nil, explained(r, err)
	}
	return checked(r, raw, parsed, c.options.MaxModule)
}

// Stored decodes the manifest of a module from the store.
//
// Errors: ErrLayout.
func Stored(r Reference, raw []byte) (*Manifest, error) {
	parsed, err := layout.ReadManifest(layout.MediaManifest, raw)
	if err != nil {
		return nil, explained(r, err)
	}
	return checked(r, raw, parsed, math.MaxInt64)
}

func checked(r Reference, raw []byte, parsed *layout.Manifest, limit int64) (*Manifest, error) {
	module, err := parsed.Module(limit)
	if err != nil {
		return nil, explained(r, err)
	}
	r.Digest = layout.Digest(raw)
	return &Manifest{Reference: r, Raw: raw, Parsed: parsed, Module: module}, nil
}

// CheckConfig refuses a config that does not match the manifest.
func (m *Manifest) CheckConfig(content []byte) error {
	return explained(m.Reference, m.Parsed.CheckConfig(content))
}

// CheckModule refuses content that is not a module.
func (m *Manifest) CheckModule(content []byte) error {
	return explained(m.Reference, layout.CheckModule(content))
}

// Resolve returns the digest that a tag has now.
func (c *Client) Resolve(ctx context.Context, r Reference) (string, error) {
	repo, err := c.repository(ctx, r)
	if err != nil {
		return "", explained(r, err)
	}
	found, err := repo.Manifests().Resolve(ctx, r.wanted())
	if err != nil {
		return "", explained(r, err)
	}
	if digest := found.Digest.String(); layout.ValidDigest(digest) {
		return digest, nil
	}
	return "", explained(r, fmt.Errorf("%w: its digest is %q, not one of sha256", ErrLayout, found.Digest))
}

// fetchManifest fetches a manifest of a module or of an attachment.
func fetchManifest(ctx context.Context, repo *remote.Repository, r Reference) ([]byte, *layout.Manifest, error) {
	mediaType, raw, err := fetchRaw(ctx, repo, r)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := layout.ReadManifest(mediaType, raw)
	return raw, parsed, err
}

// fetchRaw fetches a manifest or an index, and the type that the registry gives it. It computes
// the digest, and does not trust that of the registry.
func fetchRaw(ctx context.Context, repo *remote.Repository, r Reference) (mediaType string, raw []byte, err error) {
	described, body, err := repo.Manifests().FetchReference(ctx, r.wanted())
	if err != nil {
		return "", nil, err
	}
	defer body.Close()
	raw, err = io.ReadAll(io.LimitReader(body, layout.MaxManifest+1))
	switch {
	case err != nil:
		return "", nil, err
	case len(raw) > layout.MaxManifest:
		return "", nil, fmt.Errorf("%w: its manifest is larger than %d bytes", ErrLayout, layout.MaxManifest)
	}
	if want := described.Digest.String(); layout.Digest(raw) != want {
		return "", nil, fmt.Errorf("%w: the manifest should be %s and is %s", ErrTampered, want, layout.Digest(raw))
	}
	if r.Digest != "" && layout.Digest(raw) != r.Digest {
		return "", nil, fmt.Errorf("%w: the manifest is %s", ErrTampered, layout.Digest(raw))
	}
	return described.MediaType, raw, nil
}

// Config fetches and checks the config of a module's artifact.
func (c *Client) Config(ctx context.Context, m *Manifest) ([]byte, error) {
	config, err := c.blob(ctx, m.Reference, m.Parsed.Config, unseen)
	if err != nil {
		return nil, explained(m.Reference, err)
	}
	return config, m.CheckConfig(config)
}

// Layer fetches and checks the module. It resumes a broken transfer.
func (c *Client) Layer(ctx context.Context, m *Manifest) ([]byte, error) {
	moved, ended := c.options.Progress(m.Reference.short())
	defer ended()
	module, err := c.blob(ctx, m.Reference, m.Module, moved)
	if err != nil {
		return nil, explained(m.Reference, err)
	}
	return module, m.CheckModule(module)
}

// Blob fetches and checks content of at most limit bytes.
func (c *Client) Blob(ctx context.Context, r Reference, d layout.Descriptor, limit int64) ([]byte, error) {
	if !layout.ValidDigest(d.Digest) || d.Size < 0 || d.Size > limit {
		return nil, explained(r, fmt.Errorf("%w: %q of %d bytes is announced, and the limit is %d", ErrLayout, d.Digest, d.Size, limit))
	}
	content, err := c.blob(ctx, r, d, unseen)
	return content, explained(r, err)
}

// attempts is the number of times that a transfer is started or resumed.
const attempts = 4

// unseen shows no progress: the content is small.
func unseen(int64, int64) {}

// blob fetches content whose size has been checked.
func (c *Client) blob(ctx context.Context, r Reference, d layout.Descriptor, moved func(done, total int64)) ([]byte, error) {
	repo, err := c.repository(ctx, r)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer // grows with the received bytes, not with the announced size
	for attempt := 1; ; attempt++ {
		err := transfer(ctx, repo, d, &content, moved)
		if err == nil {
			break
		}
		if attempt == attempts || !broken(err) || ctx.Err() != nil {
			return nil, err
		}
	}
	if err := d.Matches(content.Bytes()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTampered, err)
	}
	return content.Bytes(), nil
}

// errBroken says that a transfer ended too early.
var errBroken = errors.New("the transfer broke off")

func broken(err error) bool { return errors.Is(err, errBroken) && !errors.Is(err, errStalled) }

// transfer resumes a transfer at the end of the content. It starts again if the registry
// cannot resume.
func transfer(ctx context.Context, repo *remote.Repository, d layout.Descriptor, content *bytes.Buffer, moved func(done, total int64)) error {
	body, err := repo.Blobs().Fetch(ctx, described(d))
	if isNotFound(err) {
		return fmt.Errorf("%w: the registry has the manifest, but not its content %s", ErrMissing, d.Digest)
	}
	if err != nil {
		return err
	}
	defer body.Close()
	if seeker, ok := body.(io.Seeker); ok && content.Len() > 0 {
		if _, err := seeker.Seek(int64(content.Len()), io.SeekStart); err != nil {
			return err
		}
	} else {
		content.Reset()
	}
	from := io.LimitReader(body, d.Size+1-int64(content.Len())) // one extra byte reveals content that is too long
	chunk := make([]byte, 64<<10)
	for {
		n, err := from.Read(chunk)
		content.Write(chunk[:n])
		moved(int64(content.Len()), d.Size)
		switch {
		case err == io.EOF && int64(content.Len()) < d.Size:
			return fmt.Errorf("%w after %d of %d bytes", errBroken, content.Len(), d.Size)
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%w after %d of %d bytes: %w", errBroken, content.Len(), d.Size, err)
		}
	}
}
