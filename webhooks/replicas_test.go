package webhooks

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// handshake connects as a client that trusts only the announced authorities.
func handshake(t *testing.T, conn net.Conn, announced ClientConfig) (*x509.Certificate, error) {
	t.Helper()
	defer conn.Close()
	bundle, err := base64.StdEncoding.DecodeString(announced.CABundle)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	client := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "op.ns.svc", MinVersion: tls.VersionTLS12})
	if err := client.HandshakeContext(t.Context()); err != nil {
		return nil, err
	}
	return client.ConnectionState().PeerCertificates[0], nil
}

// TestReplicasRotate: two replicas share a secret and serve at any time, while their
// certificates and authorities are renewed: also clients that hear of new authorities
// with a delay, or from the other replica.
func TestReplicasRotate(t *testing.T) {
	const step = 2 * time.Hour // until clients know
	s := schedule{authority: 4 * 24 * time.Hour, leaf: 36 * time.Hour, overlap: 4 * time.Hour, check: 20 * time.Minute}
	synctest.Test(t, func(t *testing.T) {
		cluster := &store{}
		var listeners [2]*pipes
		var announced [2]func() ClientConfig
		for i := range listeners {
			from := &shared{ref: SecretRef{"ns", "x"}, names: []string{"op.ns.svc"}, cluster: cluster, schedule: s}
			listeners[i], announced[i] = servePipes(t, &LocalServer{}, from, http.NotFoundHandler())
			time.Sleep(s.check / 3) // replicas look at different times
		}
		var known [][2]ClientConfig
		leaves, bundles := map[string]bool{}, map[string]bool{}
		for began := time.Now(); time.Since(began) < 7*24*time.Hour; time.Sleep(step) {
			known = append(known, [2]ClientConfig{announced[0](), announced[1]()})
			for _, config := range known[max(0, len(known)-2)] { // late by a step
				for i, listener := range listeners {
					leaf, err := handshake(t, listener.dial(), config)
					if err != nil {
						t.Fatalf("after %v, replica %d: %v", time.Since(began), i, err)
					}
					leaves[leaf.SerialNumber.String()], bundles[config.CABundle] = true, true
				}
			}
		}
		if len(leaves) < 5 || len(bundles) < 5 { // two authorities came and went
			t.Errorf("only %d certificates and %d bundles were seen", len(leaves), len(bundles))
		}
	})
}
