// Package credentials keeps what an operator may reach its cluster with: the
// results of login handlers, or the host's own logins. Those that the cluster has
// refused are never used again; when none are left, there is another login.
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

// Info is how to reach a cluster, and as whom.
//
// Kopf: kopf.ConnectionInfo (v1.45).
type Info struct {
	Config *rest.Config

	// Authorization takes the place of the header that Config makes, if it is not
	// empty: a scheme, perhaps with a token.
	Authorization string

	// DefaultNamespace is where events about cluster-scoped objects go.
	DefaultNamespace string

	// GuestNamespace says that a guest has chosen DefaultNamespace.
	GuestNamespace bool

	// Priority: of several, those with the highest one are used; 0 by default.
	Priority int

	// Expiration is when they are not used any more; zero: never.
	Expiration time.Time
}

// Renewing tells whether the transport gets new tokens by itself when they are
// refused: from a program. Then one refusal does not mean much. Files are read
// again by the next login.
func (i Info) Renewing() bool { return i.Config.ExecProvider != nil || i.Config.AuthProvider != nil }

func (i Info) expired(now time.Time) bool {
	return !i.Expiration.IsZero() && !now.Before(i.Expiration)
}

// fingerprint identifies what is sent to the cluster, but not for how long or in
// which order: refused credentials do not become better with a later expiration.
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

// content of a file that may have been rotated. One that cannot be read is told of
// by the transport.
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
