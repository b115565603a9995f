package certificates

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// store is one secret, with the locks of the API server.
type store struct {
	mu      sync.Mutex
	version int
	data    map[string][]byte
	writes  int
}

var secretsResource = schema.GroupResource{Resource: "secrets"}

func (s *store) Get(context.Context, apipath.Path) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version == 0 {
		return nil, apierrors.NewNotFound(secretsResource, "x")
	}
	return json.Marshal(secret{Metadata: secretMeta{Name: "x", ResourceVersion: strconv.Itoa(s.version)}, Data: s.data})
}

func (s *store) Create(_ context.Context, path apipath.Path, object []byte) error {
	return s.change(path, "/api/v1/namespaces/ns/secrets", object, func(secretMeta) error {
		if s.version != 0 {
			return apierrors.NewAlreadyExists(secretsResource, "x")
		}
		return nil
	})
}

func (s *store) Patch(_ context.Context, path apipath.Path, patch []byte) error {
	return s.change(path, "/api/v1/namespaces/ns/secrets/x", patch, func(meta secretMeta) error {
		if meta.ResourceVersion != strconv.Itoa(s.version) {
			return apierrors.NewConflict(secretsResource, "x", nil)
		}
		return nil
	})
}

func (s *store) change(path, want apipath.Path, text []byte, allowed func(secretMeta) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sent secret
	if err := json.Unmarshal(text, &sent); err != nil || path != want {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := allowed(sent.Metadata); err != nil {
		return err
	}
	s.version++
	s.writes++
	s.data = sent.Data
	return nil
}

func replica(cluster Cluster, name string) *Shared {
	return &Shared{Secret: SecretRef{"ns", "x"}, Names: []string{name}, Cluster: cluster, Schedule: DefaultSchedule}
}

// TestReplicasShareASecret: however many start at once, they use the same bundle.
func TestReplicasShareASecret(t *testing.T) {
	cluster := &store{}
	var replicas sync.WaitGroup
	for range 8 {
		replicas.Go(func() {
			if _, err := replica(cluster, "op.ns.svc").Load(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	replicas.Wait()
	if cluster.writes != 1 {
		t.Errorf("%d writes, want 1", cluster.writes)
	}
	first, err := replica(cluster, "op.ns.svc").Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := replica(cluster, "other.ns.svc").Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	third, err := replica(cluster, "op.ns.svc").Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if string(first.Authorities) != string(second.Authorities) || !second.equal(third) || second.equal(first) {
		t.Error("the replicas do not share")
	}
}

// TestForeignSecrets are not overwritten.
func TestForeignSecrets(t *testing.T) {
	good, err := DefaultSchedule.next(nil, []string{"x"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	data, err := good.encode()
	if err != nil {
		t.Fatal(err)
	}
	with := func(key, value string) map[string][]byte {
		changed := map[string][]byte{}
		for k, v := range data {
			changed[k] = v
		}
		changed[key] = []byte(value)
		return changed
	}
	for name, tt := range map[string]struct {
		data map[string][]byte
		want string
	}{
		"no certificate":         {with("ca.crt", "garbage"), "secret ns/x of the webhook server: ca.crt: it has no certificates in PEM"},
		"keys without authority": {with("ca.key", ""), "its content is not that of an operator"},
		"keys of another":        {with("ca.key", string(data["tls.key"])), "its content is not that of an operator"},
		"no key":                 {with("tls.key", "garbage"), "tls.crt and tls.key"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &store{version: 1, data: tt.data}
			_, err := replica(cluster, "x").Load(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || cluster.writes > 0 {
				t.Errorf("%v after %d writes, want %q", err, cluster.writes, tt.want)
			}
		})
	}
	empty := &store{version: 1}
	if _, err := replica(empty, "x").Load(t.Context()); err != nil || empty.writes != 1 {
		t.Errorf("an empty secret is not filled: %v", err)
	}
}
