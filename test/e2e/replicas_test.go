package e2e_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/test/porttest"
)

const day = 24 * time.Hour

// signed is a certificate with its key.
type signed struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// certify makes an authority, or a certificate by one, that was made some time ago.
func certify(t *testing.T, by *signed, ago, life time.Duration) *signed {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: fmt.Sprintf("made %v ago", ago)},
		NotBefore: time.Now().Add(-ago), NotAfter: time.Now().Add(life - ago), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: by == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	issuer := &signed{template, key}
	if by != nil {
		issuer = by
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.cert, key.Public(), issuer.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signed{cert, key}
}

func (s *signed) certPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Raw})
}

func (s *signed) keyPEM(t *testing.T) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// replica is an operator in a process of its own that shares the secret "hooks".
type replica struct {
	*process
	address string
}

func (s space) replica(t *testing.T, group string) replica {
	t.Helper()
	return s.replicaWith(t, group, "kept")
}

// replicaWith is replica with other handlers, and further arguments.
func (s space) replicaWith(t *testing.T, group, handlers string, args ...string) replica {
	t.Helper()
	address := porttest.Unused(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server := fmt.Sprintf(`{"type": "server", "addr": "127.0.0.1", "port": %s, "secret": {"namespace": %q, "name": "hooks"}}`, port, s.namespace)
	p := s.spawnModule(t, guest(t, "admission"), append([]string{
		"--config", "group=" + group, "--config", "handlers=" + handlers,
		"--admission-server", server, "--admission-managed", s.managedName(),
	}, args...)...)
	p.says(t, "Listening for webhooks at ")
	return replica{p, address}
}

// serves connects as a client that trusts the authorities, and returns the number of the
// certificate.
func (r replica) serves(t *testing.T, authorities []byte) string {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	conn, err := tls.Dial("tcp", r.address, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// TestReplicasInProcesses: operators that share a secret in the middle of a change of
// authorities, one of which is killed.
func TestReplicasInProcesses(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	o := s.admission(t, options{})
	secrets := s.client(schema.GroupVersionResource{Version: "v1", Resource: "secrets"})
	authorities := func() []byte {
		secret, err := secrets.Get(t.Context(), "hooks", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := unstructured.NestedString(secret.Object, "data", "ca.crt")
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return decoded
	}
	// An old authority, which has signed what the replicas serve with.
	old := certify(t, nil, 300*day, 365*day)
	leaf := certify(t, old, day, 90*day)
	text := func(pems ...[]byte) any { return string(bytes.Join(pems, nil)) }
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "hooks"}, "stringData": map[string]any{
			"ca.crt": text(old.certPEM()), "ca.key": text(old.keyPEM(t)), "tls.crt": text(leaf.certPEM()), "tls.key": text(leaf.keyPEM(t)),
		},
	}}
	if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	// The first one adds an authority that no replica uses yet.
	first, second := s.replica(t, o.config["group"]), s.replica(t, o.config["group"])
	if n := len(certificates(authorities())); n != 2 {
		t.Fatalf("the secret has %d authorities, want the old one and a new one", n)
	}
	for _, r := range []replica{first, second} {
		if got := r.serves(t, old.certPEM()); got != leaf.cert.SerialNumber.String() {
			t.Errorf("another certificate is served: %s", got)
		}
	}

	// An hour later, the next one lets the new authority sign; the others serve as before.
	fresh := certify(t, nil, 2*time.Hour, 365*day)
	data := secret.Object["stringData"].(map[string]any)
	data["ca.crt"], data["ca.key"] = text(fresh.certPEM(), old.certPEM()), text(fresh.keyPEM(t), old.keyPEM(t))
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	third := s.replica(t, o.config["group"])
	if got := third.serves(t, fresh.certPEM()); got == leaf.cert.SerialNumber.String() {
		t.Error("the new authority has signed nothing")
	}
	named := authorities()
	for _, r := range []replica{first, second, third} {
		r.serves(t, named) // a client that trusts the named authorities trusts all replicas
	}

	// One is killed: the others answer, and one that starts again takes what there is.
	first.signal(t, syscall.SIGKILL)
	first.exits(t)
	if got, want := s.replica(t, o.config["group"]).serves(t, fresh.certPEM()), third.serves(t, fresh.certPEM()); got != want {
		t.Errorf("a new replica serves %s, the others %s", got, want)
	}
	w := widgets{&running{space: s}, o.config["group"]}
	w.eventually(t, func() error { // until the API server knows where it is
		if _, err := w.make(t, "bad", "{do: deny}"); err == nil {
			return errors.Join(errors.New("a bad widget is allowed"), w.client().Delete(t.Context(), "bad", metav1.DeleteOptions{}))
		}
		return nil
	})
}

// TestWebhooksOfReplicas: the leader writes the configuration. It stays when the leader is stopped, and the next leader writes its own.
func TestWebhooksOfReplicas(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"leader", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			o := s.admission(t, options{})
			t.Cleanup(func() {
				for _, resource := range []schema.GroupVersionResource{validatingConfigurations, mutatingConfigurations} {
					_ = s.Dynamic().Resource(resource).Delete(context.WithoutCancel(t.Context()), s.managedName(), metav1.DeleteOptions{}) // it may not exist
				}
			})
			// registered returns the address of the only webhook; empty without one.
			registered := func() string {
				object, err := s.Dynamic().Resource(validatingConfigurations).Get(t.Context(), s.managedName(), metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return ""
				}
				if err != nil {
					t.Fatal(err)
				}
				hooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
				if len(hooks) != 1 {
					return ""
				}
				address, _, _ := unstructured.NestedString(hooks[0].(map[string]any), "clientConfig", "url")
				return address
			}
			args := []string{"--standalone", "--replicas", mode, "--lease", s.namespace + "/op", "--lease-duration", leasing.String()}
			first := s.replicaWith(t, o.config["group"], "check", args...)
			s.until(t, "the leader is registered", func() bool { return strings.Contains(registered(), first.address) })
			second := s.replicaWith(t, o.config["group"], "check", args...)
			if at := registered(); !strings.Contains(at, first.address) {
				t.Errorf("a replica that waits at %s has written %s", second.address, at)
			}
			first.signal(t, syscall.SIGTERM)
			s.until(t, "the next leader is registered", func() bool {
				at := registered()
				if at == "" {
					t.Fatal("the webhook is gone")
				}
				return strings.Contains(at, second.address)
			})
			if code := first.exits(t); code != 0 {
				t.Errorf("the stopped leader ends with %d", code)
			}
			second.signal(t, syscall.SIGTERM)
			second.exits(t)
			if at := registered(); !strings.Contains(at, second.address) {
				t.Errorf("the last leader leaves %q", at)
			}
		})
	}
}

func certificates(text []byte) (list []*pem.Block) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return list
		}
		list, text = append(list, block), rest
	}
}
