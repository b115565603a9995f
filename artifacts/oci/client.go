// Package oci carries modules between this machine and registries, as OCI
// artifacts. What comes from a registry is not believed: sizes are bounded before
// they are read, digests are computed, and each error names the reference.
//
// See https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md
package oci

import (
	"context"
	"net/http"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
)

// Options say how registries are reached. The zero value works.
type Options struct {
	// Sources are the insecure registries, the authorities and the proxies; nil: none.
	Sources *sources.Sources

	// ConfigFile is a configuration of Docker or Podman with credentials. Empty: the
	// files where these tools keep it, and the helpers that are named there.
	ConfigFile string

	// MaxModule bounds a module, in bytes. Default: 256 MiB.
	MaxModule int64

	// Stall is how long a registry may send nothing. Default: 30 seconds.
	Stall time.Duration

	// Progress is told how much of a module has been carried; may be nil.
	Progress func(done, total int64)

	// UserAgent is how registries see this program. Default: "kopf".
	UserAgent string
}

// Client talks to registries. It is safe for concurrent use.
type Client struct {
	options   Options
	transport *transport
	cache     auth.Cache
}

// New makes a client. It connects to nothing yet.
func New(o Options) *Client {
	if o.MaxModule == 0 {
		o.MaxModule = 256 << 20
	}
	if o.Stall == 0 {
		o.Stall = 30 * time.Second
	}
	if o.UserAgent == "" {
		o.UserAgent = "kopf"
	}
	return &Client{options: o, transport: newTransport(o.Sources, o.Stall), cache: auth.NewCache()}
}

// Close ends the connections that are kept.
func (c *Client) Close() { c.transport.close() }

// repository prepares requests for the repository of a reference.
func (c *Client) repository(ctx context.Context, r Reference) (*remote.Repository, error) {
	plain, err := c.transport.plain(ctx, host(r))
	if err != nil {
		return nil, err
	}
	return &remote.Repository{
		Reference:            registry.Reference{Registry: r.Registry, Repository: r.Repository},
		PlainHTTP:            plain,
		ManifestMediaTypes:   layout.ManifestTypes,
		MaxMetadataBytes:     layout.MaxManifest,
		ReferrerListMaxPages: 10,
		SkipReferrersGC:      true, // deleting is often forbidden
		Client: &auth.Client{
			Client:     &http.Client{Transport: &retry.Transport{Base: toward{c.transport, host(r)}, Policy: retryPolicy}},
			Header:     http.Header{"User-Agent": {c.options.UserAgent}},
			Credential: c.credentials(r),
			Cache:      c.cache,
			ClientID:   "kopf",
		},
	}, nil
}

// host is the host that serves the registry of a reference.
func host(r Reference) string { return registry.Reference{Registry: r.Registry}.Host() }
