package clients

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"io"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// maxVersion limits the response about the version, in bytes.
const maxVersion = 64 << 10

// Identity returns the certificate of the server, nil without TLS, and the server's
// version.
func (c *Client) Identity(ctx context.Context) (*x509.Certificate, string, error) {
	ctx, cancel := limited(ctx, c.options().RequestTimeout)
	defer cancel()
	rsp, _, err := c.send(ctx, reading, toRead(string(apipath.ServerVersion)))
	if err != nil {
		return nil, "", err
	}
	defer rsp.Body.Close()
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.NewDecoder(io.LimitReader(rsp.Body, maxVersion)).Decode(&version); err != nil {
		return nil, "", err
	}
	if rsp.TLS == nil || len(rsp.TLS.PeerCertificates) == 0 {
		return nil, version.GitVersion, nil
	}
	return rsp.TLS.PeerCertificates[0], version.GitVersion, nil
}
