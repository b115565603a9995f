// Package credentials keeps the credentials of an operator for its cluster: the results of
// login handlers, or the host's own logins. Credentials that the cluster has refused are
// never reused. When none are left, the operator logs in again.
//
// Kopf: kopf._cogs.structs.credentials (v1.45);
// https://docs.kopf.dev/en/latest/authentication/
package credentials

import (
	"crypto/sha256"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
)

// Info describes how to connect to a cluster, and with which identity.
//
// Kopf: kopf.ConnectionInfo (v1.45).
type Info struct {
	Config *rest.Config

	// Authorization, if not empty, replaces the header that Config makes: a scheme,
	// optionally with a token.
	Authorization string

	// DefaultNamespace is the namespace of events about cluster-scoped objects.
	DefaultNamespace string

	// GuestNamespace means that a guest has chosen DefaultNamespace.
	GuestNamespace bool

	// Priority selects among several credentials: the highest is used. Default: 0.
	Priority int

	// Expiration is when the credentials stop being used; zero: never.
	Expiration time.Time
}

// Renewing reports whether an exec plugin provides the tokens. The transport then gets a
// new token after a refusal, so a single refusal is not final. Token files are read again
// at the next login.
func (i Info) Renewing() bool { return i.Config.ExecProvider != nil || i.Config.AuthProvider != nil }

func (i Info) expired(now time.Time) bool {
	return !i.Expiration.IsZero() && !now.Before(i.Expiration)
}

// fingerprint identifies the credentials that are sent to the cluster. It excludes
// expiration and priority: refused credentials stay refused with a later expiration.
type fingerprint [sha256.Size]byte

func (i Info) fingerprint() fingerprint {
	c := i.Config
	sum := sha256.New()
	for _, part := range []string{
		c.Host, c.APIPath, c.Username, c.Password, c.BearerToken, content(c.BearerTokenFile), i.Authorization,
		string(c.CAData), content(c.CAFile), string(c.CertData), content(c.CertFile), string(c.KeyData), content(c.KeyFile),
		c.ServerName, fmt.Sprint(c.Insecure), fmt.Sprintf("%+v", c.Impersonate),
		fmt.Sprintf("%+v", c.ExecProvider), fmt.Sprintf("%+v", c.AuthProvider),
	} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return fingerprint(sum.Sum(nil))
}

// content returns the content of a file, which may have been rotated. If the file cannot
// be read, the transport reports the error.
func content(path string) string {
	if path == "" {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return path
	}
	return string(data)
}
