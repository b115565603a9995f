package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/internal/slots"
)

// TestSignaturesShareMemory: authors choose how many declarations demand signatures, and their registries how large the
// signatures are, and when the last one arrives. Twenty of them took 1.2 GB before
// any module was fetched.
func TestSignaturesShareMemory(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	registry := ocitest.New(t)
	const declarations, last = 20, 7 // as many as all signatures of an artifact may be
	digest := registry.Pack(t, "v1", []byte("\x00asm\x01\x00\x00\x00"))
	layers := make([]layout.Descriptor, last+1)
	for i := range layers {
		layers[i] = registry.Put("application/vnd.dev.cosign.simplesigning.v1+json", bytes.Repeat([]byte{byte(i)}, 1<<20))
		layers[i].Annotations = map[string]string{"dev.cosignproject.cosign/signature": "c2ln"}
	}
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": layout.MediaManifest, "config": registry.Put(layout.MediaEmpty, []byte("{}")), "layers": layers})
	if err != nil {
		t.Fatal(err)
	}
	registry.Tag(oci.SignatureTag(digest), layout.MediaManifest, manifest)
	var late atomic.Int64
	registry.Override(func(_ http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, layers[last].Digest) {
			late.Add(1)
			<-req.Context().Done()
		}
	})
	f := newFetcher(registryOptions{}, &verificationOptions{}, []string{registry.Ref("v1").Registry})
	d := &hosting.Declaration{
		Key:  hosting.Key{Kind: api.Namespaced, Namespace: "attacker", Name: "many"},
		Spec: api.Spec{Module: registry.Ref("v1").String(), Verification: &api.Verification{Keys: []string{publicKey(t)}}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range declarations {
		all.Go(func() { _, _ = f.fetch(ctx, d, nil) }) // until the context ends
	}
	wanted := int64(hostedMemory / documentMemory / 2)
	for began := time.Now(); late.Load() < wanted && time.Since(began) < time.Minute; {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // for further ones
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if late.Load() != wanted || m.HeapAlloc > hostedMemory {
		t.Errorf("%d fetches of one namespace at the same time, of %d; a heap of %d MiB", late.Load(), wanted, m.HeapAlloc>>20)
	}
	cancel()
	all.Wait()
}

// certificates is a verifier of certificates that does something else.
type certificates func()

func (c certificates) VerifyCertificates(context.Context, string, []signatures.Signature) ([]signatures.Finding, error) {
	c()
	return nil, nil
}

// TestVerificationsOfCertificatesTakeTurns: a namespace waits for one of each other one, and not for all of them.
func TestVerificationsOfCertificatesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := slots.New(1)
		var all sync.WaitGroup
		var ended []string // one verification runs at a time
		for _, owner := range []string{"many", "many", "many", "many", "one"} {
			all.Go(func() {
				verifier := certificates(func() {
					time.Sleep(time.Second)
					ended = append(ended, owner)
				})
				if _, err := (inTurn{verifier, turns, owner}).VerifyCertificates(t.Context(), "", nil); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // they come in this order
		}
		all.Wait()
		if want := []string{"many", "one", "many", "many", "many"}; !slices.Equal(ended, want) {
			t.Errorf("verified for %q", ended)
		}
	})
}
