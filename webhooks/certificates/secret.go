package certificates

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// SecretRef identifies a secret.
type SecretRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns NAMESPACE/NAME.
func (r SecretRef) String() string { return r.Namespace + "/" + r.Name }

// path is the path of the secret, or of all secrets in its namespace without a name.
func (r SecretRef) path(name string) (apipath.Path, error) {
	return apipath.Of(apipath.Target{Version: "v1", Namespace: r.Namespace, Plural: "secrets", Name: name})
}

// Shared is a bundle in a secret. All replicas of an operator read it, and the first one
// that finds it old renews it.
type Shared struct {
	Secret   SecretRef
	Names    []string // of the server, or its addresses
	Cluster  Cluster  // nil: Load fails
	Schedule Schedule
}

// Cluster reads and writes secrets. Errors of the API server can be recognised by
// apierrors.IsNotFound, IsConflict and IsAlreadyExists.
type Cluster interface {
	Get(ctx context.Context, path apipath.Path) ([]byte, error)
	Create(ctx context.Context, path apipath.Path, object []byte) error
	Patch(ctx context.Context, path apipath.Path, mergePatch []byte) error
}

// secret holds the fields of a secret that this package uses.
type secret struct {
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Type       string            `json:"type,omitempty"`
	Metadata   secretMeta        `json:"metadata"`
	Data       map[string][]byte `json:"data"`
}

type secretMeta struct {
	Name            string `json:"name,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// writeAttempts bounds the attempts to write the secret when other replicas write it, too.
const writeAttempts = 10

// Load implements Source.
func (s *Shared) Load(ctx context.Context) (*Pair, error) {
	if s.Cluster == nil {
		return nil, fmt.Errorf("secret %s: it cannot be read without a cluster", s.Secret)
	}
	for range writeAttempts {
		pair, err := s.attempt(ctx)
		if err == nil || !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return pair, err
		}
	}
	return nil, fmt.Errorf("secret %s: gave up after %d conflicts: another writer keeps changing it", s.Secret, writeAttempts)
}

// attempt reads the secret and writes its successor. The write fails with a conflict if
// another replica was first.
func (s *Shared) attempt(ctx context.Context) (*Pair, error) {
	found, before, err := s.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("secret %s of the webhook server: %w", s.Secret, err)
	}
	after, err := s.Schedule.next(before, s.Names, time.Now())
	if err != nil {
		return nil, err
	}
	if after != before {
		if err := s.write(ctx, found, after); err != nil {
			return nil, fmt.Errorf("secret %s of the webhook server: %w", s.Secret, err)
		}
	}
	return after.pair(), nil
}

// read reads the secret: nil if it does not exist, and no bundle if it is empty.
func (s *Shared) read(ctx context.Context) (*secret, *bundle, error) {
	path, err := s.Secret.path(s.Secret.Name)
	if err != nil {
		return nil, nil, err
	}
	text, err := s.Cluster.Get(ctx, path)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	found := &secret{}
	if err := json.Unmarshal(text, found); err != nil {
		return nil, nil, err
	}
	if len(found.Data["ca.crt"]) == 0 && len(found.Data["tls.crt"]) == 0 {
		return found, nil, nil
	}
	b, err := decodeBundle(found.Data)
	return found, b, err
}

func (s *Shared) write(ctx context.Context, found *secret, b *bundle) error {
	data, err := b.encode()
	if err != nil {
		return err
	}
	if found == nil {
		text, err := json.Marshal(secret{
			APIVersion: "v1", Kind: "Secret", Type: "kubernetes.io/tls", Metadata: secretMeta{Name: s.Secret.Name}, Data: data,
		})
		if err != nil {
			return err
		}
		path, err := s.Secret.path("")
		if err != nil {
			return err
		}
		return s.Cluster.Create(ctx, path, text)
	}
	patch, err := json.Marshal(secret{Metadata: secretMeta{ResourceVersion: found.Metadata.ResourceVersion}, Data: data})
	if err != nil {
		return err
	}
	path, err := s.Secret.path(s.Secret.Name)
	if err != nil {
		return err
	}
	return s.Cluster.Patch(ctx, path, patch)
}

// Every is not 0, because another replica may renew the certificate.
func (s *Shared) Every() time.Duration { return s.Schedule.Check }

// encode returns the data of a secret. They include the keys of the authorities, because
// each replica may have to sign the next certificate.
func (b *bundle) encode() (map[string][]byte, error) {
	var keys []byte
	for _, a := range b.authorities {
		key, err := pemOfKey(a.key)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key...)
	}
	key, err := pemOfKey(b.leaf.PrivateKey)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"ca.crt": b.pair().Authorities, "ca.key": keys, "tls.crt": pemOf(b.leaf.Leaf), "tls.key": key}, nil
}

// Limits of the data of a secret, which users may have edited. The time for keys and
// signatures grows with their lengths.
const (
	maxSecretPart  = 64 << 10
	maxAuthorities = 10
	maxKey         = 1 << 10 // DER; generated keys have 138 bytes
)

var errNotOurs = errors.New("its content is not that of an operator: want ca.crt, ca.key, tls.crt and tls.key that belong together")

// decodeBundle reads the data of a secret. It refuses data that this package did not write,
// because a renewal would overwrite them.
func decodeBundle(data map[string][]byte) (*bundle, error) {
	for _, key := range []string{"ca.crt", "ca.key", "tls.crt", "tls.key"} {
		if len(data[key]) > maxSecretPart {
			return nil, fmt.Errorf("%s has %d bytes; at most %d are ours", key, len(data[key]), maxSecretPart)
		}
	}
	certs, err := Parse(data["ca.crt"])
	if err != nil {
		return nil, fmt.Errorf("ca.crt: %w", err)
	}
	keys, err := parseKeys(data["ca.key"])
	if err != nil {
		return nil, fmt.Errorf("ca.key: %w", err)
	}
	if len(keys) != len(certs) || len(keys) > maxAuthorities {
		return nil, errNotOurs
	}
	b := &bundle{}
	for i, cert := range certs {
		if !keys[i].PublicKey.Equal(cert.PublicKey) {
			return nil, errNotOurs
		}
		b.authorities = append(b.authorities, &authority{cert, keys[i]})
	}
	if own, err := parseKeys(data["tls.key"]); err != nil || len(own) != 1 {
		return nil, fmt.Errorf("tls.crt and tls.key: %w", errors.Join(err, errNotOurs))
	}
	leaf, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	if err != nil {
		return nil, fmt.Errorf("tls.crt and tls.key: %w", err)
	}
	b.leaf = &leaf
	return b, nil
}

func parseKeys(text []byte) ([]*ecdsa.PrivateKey, error) {
	var keys []*ecdsa.PrivateKey
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return keys, nil
		}
		if len(block.Bytes) > maxKey {
			return nil, errNotOurs
		}
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		key, ok := parsed.(*ecdsa.PrivateKey)
		if !ok {
			return nil, errNotOurs
		}
		keys = append(keys, key)
	}
}
