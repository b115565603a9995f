// Package oci transfers modules between this machine and registries, as OCI artifacts. It
// does not trust registries: it bounds sizes before it reads, and computes digests. Each
// error names the reference.
//
// See https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md
package oci

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
)

// Options configure the access to registries. The zero value is valid.
type Options struct {
	// Sources are the insecure registries, the certificate authorities and the proxies; may
	// be nil.
	Sources *sources.Sources

	// ConfigFile is a configuration of Docker or Podman with credentials. Default: the files
	// of these tools, and the credential helpers that they name.
	ConfigFile string

	// Configs replace all files with credentials, if not nil. They are configurations of
	// Docker, as secrets of Kubernetes hold them. Their credential helpers are programs, and
	// are ignored.
	Configs [][]byte

	// MaxModule bounds a module, in bytes. Default: 256 MiB.
	MaxModule int64

	// Stall is how long a registry may pause while it sends. Default: 30 seconds.
	Stall time.Duration

	// Control refuses addresses that the name of a host has, before each connection to it:
	// hosts of registries, of their redirects and of their token services. It is not asked
	// about the address of a proxy. Nil refuses none.
	Control func(host string, address netip.Addr) error

	// Progress is called when the transfer of a module begins, with the name of its artifact; may
	// be nil. The transfer calls moved with the transferred and the total bytes, and ended once at
	// its end, with or without success. Several transfers may run at the same time.
	Progress func(name string) (moved func(done, total int64), ended func())

	// UserAgent identifies this program to registries. Default: "kopf".
	UserAgent string
}

// Client talks to registries. It is safe for concurrent use.
type Client struct {
	options   Options
	transport *transport
	cache     auth.Cache
}

// New creates a client without connecting.
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
	if o.Progress == nil {
		o.Progress = func(string) (func(done, total int64), func()) { return unseen, func() {} }
	}
	c := &Client{options: o, transport: newTransport(o.Sources, o.Stall), cache: &tokens{known: auth.NewCache()}}
	c.transport.control = o.Control
	return c
}

// Close closes the idle connections.
func (c *Client) Close() { c.transport.close() }

// repository returns a client for the repository of a reference.
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
