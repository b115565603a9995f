package kopf

import (
	"slices"
	"time"
)

// ConnectionInfo is the result of a login handler: how to reach the cluster. It is
// either one of the host's own credentials, by Login, or made of data. Without a
// Server, it is for the server of the host.
//
// Files of the host cannot be named. Server, CAData and Insecure need the grant
// kopf run --allow-server, and ProxyURL needs --allow-proxy.
//
// Kopf: kopf.ConnectionInfo (v1.45).
type ConnectionInfo struct {
	// Login is the name of the host's own credentials, see Activity.Logins. They can
	// be limited by Priority, Expiration and DefaultNamespace, but not read.
	Login string `json:"login,omitempty"`

	// Priority prefers credentials: the highest one is used, 0 by default.
	Priority int `json:"priority,omitempty"`

	// DefaultNamespace is for events about objects without a namespace.
	DefaultNamespace string `json:"default_namespace,omitempty"`

	// Expiration is when the credentials are dropped; zero: when they are refused.
	Expiration time.Time `json:"expiration,omitzero"`

	Server   string `json:"server,omitempty"`
	ProxyURL string `json:"proxy_url,omitempty"`

	CAData   []byte `json:"ca_data,omitempty"`  // PEM; of the server
	Insecure bool   `json:"insecure,omitempty"` // do not verify the server

	Username        string `json:"username,omitempty"`
	Password        string `json:"password,omitempty"`
	Scheme          string `json:"scheme,omitempty"` // of the token; Bearer by default
	Token           string `json:"token,omitempty"`
	CertificateData []byte `json:"certificate_data,omitempty"` // PEM
	PrivateKeyData  []byte `json:"private_key_data,omitempty"` // PEM
}

// LoginWithKubeconfig is the host's kubeconfig; nil if it has none.
//
//	return cmp.Or(kopf.LoginWithServiceAccount(a), kopf.LoginWithKubeconfig(a)), nil
//
// Kopf: kopf.login_with_kubeconfig (v1.45).
func LoginWithKubeconfig(a *Activity) *ConnectionInfo { return LoginWith(a, "kubeconfig") }

// LoginWithServiceAccount is the service account of the host's pod; nil outside of
// a cluster.
//
// Kopf: kopf.login_with_service_account (v1.45).
func LoginWithServiceAccount(a *Activity) *ConnectionInfo { return LoginWith(a, "service_account") }

// LoginWith is one of the host's own credentials; nil if the host has none of this name.
func LoginWith(a *Activity, name string) *ConnectionInfo {
	if !slices.Contains(a.Logins, name) {
		return nil
	}
	return &ConnectionInfo{Login: name}
}
