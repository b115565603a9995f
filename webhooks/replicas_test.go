package webhooks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/webhooks/certificates"
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

// oneSecret is a cluster of one secret, in which no two replicas write at the same time.
type oneSecret struct {
	mu   sync.Mutex // guards text
	text []byte
}

func (s *oneSecret) Get(context.Context, apipath.Path) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "x")
	}
	return s.text, nil
}

func (s *oneSecret) Create(_ context.Context, _ apipath.Path, object []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = object
	return nil
}

// Patch replaces the secret: patches of it have all its data.
func (s *oneSecret) Patch(_ context.Context, _ apipath.Path, patch []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = patch
	return nil
}

// TestReplicasRotate: two replicas share a secret and serve at any time, while their
// certificates and authorities are renewed: also clients that hear of new authorities
// with a delay, or from the other replica.
func TestReplicasRotate(t *testing.T) {
	const step = 2 * time.Hour // until clients know
	s := certificates.Schedule{Authority: 4 * 24 * time.Hour, Leaf: 36 * time.Hour, Overlap: 4 * time.Hour, Check: 20 * time.Minute}
	synctest.Test(t, func(t *testing.T) {
		cluster := &oneSecret{}
		var listeners [2]*pipes
		var announced [2]func() ClientConfig
		for i := range listeners {
			from := &certificates.Shared{Secret: certificates.SecretRef{Namespace: "ns", Name: "x"}, Names: []string{"op.ns.svc"}, Cluster: cluster, Schedule: s}
			listeners[i], announced[i] = servePipes(t, &LocalServer{}, from, http.NotFoundHandler())
			time.Sleep(s.Check / 3) // replicas look at different times
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
