package clients

import (
	"cmp"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

// OptionsOf returns the options that the settings ask for.
func OptionsOf(n settings.Networking) Options {
	connect := cmp.Or(n.ConnectTimeout, n.RequestTimeout)
	return Options{
		RequestTimeout: n.RequestTimeout, ConnectTimeout: connect, WatchConnectTimeout: connect, TrustEnv: n.TrustEnv,
		Backoffs: n.ErrorBackoffs, EnforceRetryAfter: n.EnforceRetryAfter,
	}
}
