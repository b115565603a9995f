package clients

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http/httpproxy"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/clients/wire"
	"github.com/kopf-wasm/kopf/reactor/nowait"
)

// connecting applies the options to new connections: the timeout, the proxies of the
// credentials rather than of the environment, and the user agent.
//
// Kopf: settings.networking.connect_timeout, settings.networking.trust_env (v1.45).
func connecting(cfg *rest.Config, timeout time.Duration, o Options) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = cmp.Or(cfg.UserAgent, o.UserAgent, product)
	if cfg.Proxy == nil {
		cfg.Proxy = proxies(o.TrustEnv)
	}
	switch dial := cfg.Dial; {
	case dial == nil: // client-go's defaults have no timeout of ours, and notice dead servers after five minutes
		dialer := &net.Dialer{Timeout: cmp.Or(max(timeout, 0), 30*time.Second), KeepAliveConfig: keepAlive}
		cfg.Dial = wire.Noting(func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return nowait.Conn(conn), nil
		})
	case timeout > 0:
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			return dial(ctx, network, address)
		}
	}
	return cfg
}

// keepAlive notices dead servers as soon as the pings of HTTP/2 do, which client-go sends after
// half a minute and waits for a quarter of one.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}

// proxies returns the proxies of the current environment if the environment is trusted.
// The function of net/http would read the environment only once per process.
func proxies(trustEnv bool) func(*http.Request) (*url.URL, error) {
	if !trustEnv {
		return func(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // that is how to say "no proxy"
	}
	proxy := httpproxy.FromEnvironment().ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
}

// limited adds a timeout to a context, unless the limit is 0.
func limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
