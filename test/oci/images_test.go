package oci_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"

	"github.com/kopf-wasm/kopf/test/registrytest"
)

// image pushes an image for two architectures, and returns the digests: of the index, then of the two manifests.
func image(t *testing.T, host, repository, tag string) []string {
	t.Helper()
	ctx := t.Context()
	store := memory.New()
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	digests := []string{""}
	for _, architecture := range []string{"amd64", "arm64"} {
		manifest, err := oneImage(ctx, store, architecture)
		if err != nil {
			t.Fatal(err)
		}
		index.Manifests = append(index.Manifests, manifest)
		digests = append(digests, string(manifest.Digest))
	}
	text, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := oras.TagBytes(ctx, store, ocispec.MediaTypeImageIndex, text, tag)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := oras.Copy(ctx, store, tag, repositoryOf(t, host+"/"+repository), tag, oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
	digests[0] = string(pushed.Digest)
	return digests
}

// oneImage puts the image for one architecture into a store.
func oneImage(ctx context.Context, store *memory.Store, architecture string) (ocispec.Descriptor, error) {
	config, err := oras.PushBytes(ctx, store, ocispec.MediaTypeImageConfig, fmt.Appendf(nil, `{"os":"linux","architecture":%q,"rootfs":{"type":"layers","diff_ids":[]}}`, architecture))
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	layer, err := oras.PushBytes(ctx, store, ocispec.MediaTypeImageLayer, []byte(architecture))
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	text, err := json.Marshal(ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: config, Layers: []ocispec.Descriptor{layer}})
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	manifest, err := oras.PushBytes(ctx, store, ocispec.MediaTypeImageManifest, text)
	manifest.Platform = &ocispec.Platform{OS: "linux", Architecture: architecture}
	return manifest, err
}

// TestImagesAreSigned: an image for two architectures is signed and verified as operators are, by its index; with
// --recursive, also by the manifest of each architecture.
func TestImagesAreSigned(t *testing.T) {
	for _, referrers := range []bool{false, true} {
		for _, bundle := range []bool{false, true} {
			t.Run(fmt.Sprintf("bundle=%v referrers=%v", bundle, referrers), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				r := registrytest.Start(t, registrytest.Options{Referrers: referrers})
				b.key("mine", "ECDSA")
				b.key("other", "ECDSA")
				digests := image(t, r.Host, "me/kopf", "0.1.0")
				ref, at := "oci://"+r.Host+"/me/kopf:0.1.0", "oci://"+r.Host+"/me/kopf@"
				b.refused(3, []string{digests[0], "it has no signatures"}, "verify", ref, "-k", "mine.pub")

				how := fmt.Sprintf("--bundle=%v", bundle)
				if signed := b.must("sign", ref, "--key", "mine.key", how, "-a", "env=prod"); signed != ref+"@"+digests[0] {
					t.Errorf("signed %q", signed)
				}
				if verified := b.must("verify", ref, "-k", "mine.pub", "--verification-annotation", "env=prod"); verified != ref+"@"+digests[0] {
					t.Errorf("verified %q", verified)
				}
				b.refused(3, []string{digests[0], "no signature by key "}, "verify", ref, "-k", "other.pub")
				b.refused(3, []string{digests[1], "it has no signatures"}, "verify", at+digests[1], "-k", "mine.pub")

				want := at + digests[1] + "\n" + at + digests[2] + "\n" + ref + "@" + digests[0]
				if signed := b.must("sign", ref, "--key", "mine.key", how, "--recursive"); signed != want {
					t.Errorf("signed %q, want %q", signed, want)
				}
				for _, digest := range digests {
					b.must("verify", at+digest, "-k", "mine.pub")
				}
			})
		}
	}
}

// TestReleasesAreSignedWithAKey: the step of `make sign KEY=` signs what `make push` has listed.
func TestReleasesAreSignedWithAKey(t *testing.T) {
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Options{})
	b.key("mine", "ECDSA")
	script, err := filepath.Abs(repository + "/scripts/sign-release.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	images := image(t, r.Host, "me/kopf", "0.1.0")
	scripts := image(t, r.Host, "me/other", "0.1.0-scripts")
	sign := func() result {
		return b.run(script, filepath.Join(dir, "kopf"), b.home, filepath.Join(b.home, "mine.key"))
	}
	if missing := sign(); missing.code != 1 || !strings.Contains(missing.stderr, "run make push first") {
		t.Errorf("without pushed.txt: exit code %d\n%s", missing.code, missing.stderr)
	}
	b.file("pushed.txt", r.Host+"/me/kopf:0.1.0@"+images[0]+"\n"+r.Host+"/me/other:0.1.0-scripts@"+scripts[0]+"\n")
	if signed := sign(); signed.code != 0 {
		t.Fatalf("exit code %d\n%s", signed.code, signed.stderr)
	}
	for _, digest := range images {
		b.must("verify", "oci://"+r.Host+"/me/kopf@"+digest, "-k", "mine.pub")
	}
	for _, digest := range scripts {
		b.must("verify", "oci://"+r.Host+"/me/other@"+digest, "-k", "mine.pub")
	}
	if _, err := os.Stat(filepath.Join(b.home, "SHA256SUMS.sigstore.json")); err == nil {
		t.Error("the checksums are signed without a key")
	}
}

// TestSignatureOfNothing: what a registry does not have, and what is no image, is not signed.
func TestSignatureOfNothing(t *testing.T) {
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Options{})
	b.key("mine", "ECDSA")
	b.refused(1, []string{"not found"}, "sign", "oci://"+r.Host+"/me/kopf:0.1.0", "--key", "mine.key", "--recursive")
	b.refused(1, []string{"none.key"}, "sign", "oci://"+r.Host+"/me/kopf:0.1.0", "--key", "none.key")
}
