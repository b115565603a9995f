package sigstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/tuf"
	"github.com/sigstore/sigstore-go/pkg/util"
	"github.com/theupdateframework/go-tuf/v2/metadata/fetcher"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// maxRoot bounds the file with a trusted root, in bytes.
const maxRoot = 8 << 20

// root reads the trusted root from its file. Without the default file, it fetches the
// trusted root of the public Sigstore, at most once a day.
func (v *Verifier) root(ctx context.Context) (*root.TrustedRoot, error) {
	path := v.Trust
	if path == "" {
		path = signatures.DefaultTrust()
	}
	text, err := boundedfile.Read(path, maxRoot)
	switch {
	case v.Trust == "" && errors.Is(err, fs.ErrNotExist):
		return fetch(ctx, v.options())
	case err != nil:
		return nil, fmt.Errorf("the trusted root: %w", err)
	case !json.Valid(text):
		return nil, fmt.Errorf("the trusted root: %s is not JSON", path)
	}
	return parseRoot(text)
}

// options are those for the public Sigstore.
func (v *Verifier) options() *tuf.Options {
	options := tuf.DefaultOptions().WithCacheValidity(1)
	cache := v.Cache
	if cache == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			cache = filepath.Join(dir, "kopf", "sigstore")
		}
	}
	if cache == "" {
		return options.WithDisableLocalCache()
	}
	return options.WithCachePath(cache)
}

// doer is an HTTP client.
type doer func(*http.Request) (*http.Response, error)

// Do sends a request.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// fetch fetches a trusted root by The Update Framework.
func fetch(ctx context.Context, options *tuf.Options) (*root.TrustedRoot, error) {
	from := fetcher.NewDefaultFetcher()
	from.SetHTTPUserAgent(util.ConstructUserAgent())
	from.SetHTTPClient(doer(func(r *http.Request) (*http.Response, error) { return http.DefaultClient.Do(r.WithContext(ctx)) }))
	trusted, err := root.FetchTrustedRootWithOptions(options.WithFetcher(from))
	if err != nil {
		return nil, fmt.Errorf("fetching the trusted root of Sigstore from %s: %w", options.RepositoryBaseURL, err)
	}
	return trusted, nil
}

// parseRoot decodes a trusted root, or the one in the trust configuration of a client.
func parseRoot(text json.RawMessage) (*root.TrustedRoot, error) {
	var config struct {
		TrustedRoot json.RawMessage `json:"trustedRoot"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("the trusted root: %w", err)
	}
	if config.TrustedRoot != nil {
		text = config.TrustedRoot
	}
	trusted, err := root.NewTrustedRootFromJSON(text)
	if err != nil {
		return nil, fmt.Errorf("the trusted root: %w", err)
	}
	return trusted, nil
}
