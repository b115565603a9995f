package oci_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/test/registrytest"
)

// An archive carries a module with its signatures to a machine without a registry,
// where it is verified as at home.
func TestAirGap(t *testing.T) {
	for name, how := range map[string]string{"tag": "--bundle=false", "bundle": "--bundle=true"} {
		for kind, referrers := range map[string]bool{"with referrers": true, "without referrers": false} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				home, away := newBench(t), newBench(t)
				r := registrytest.Start(t, registrytest.Options{Referrers: referrers})
				ref := "oci://" + r.Host + "/operator:v1"
				home.key("mine", "ECDSA")
				home.key("other", "ECDSA")
				pushed := home.must("push", home.module(), ref, "--attach", home.file("sbom.json", `{"spdxVersion":"SPDX-2.3"}`))
				home.must("sign", ref, "--key", "mine.key", how)
				home.must("save", ref, "-o", "operators.tar")
				home.must("save", pushed, "-o", "pinned.tar")

				away.file("operators.tar", home.read("operators.tar"))
				away.file("mine.pub", home.read("mine.pub"))
				away.file("other.pub", home.read("other.pub"))
				r.Stop()
				if loaded := away.must("load", "operators.tar"); loaded != pushed {
					t.Errorf("loaded %q, want %q", loaded, pushed)
				}
				const cluster = "no configuration of a cluster" // it came as far as the cluster
				away.refused(1, []string{cluster}, "run", ref, "--pull", "never", "-n", "default", "-k", "mine.pub")
				away.refused(3, []string{pushed}, "run", ref, "--pull", "never", "-n", "default", "-k", "other.pub")
				away.refused(1, []string{ref, "unavailable"}, "run", ref, "-n", "default")
				if shown := away.must("inspect", ref, "--pull", "never"); !strings.Contains(shown, "application/spdx+json") || !strings.Contains(shown, "create_fn") {
					t.Errorf("inspect:\n%s", shown)
				}
				if listed := away.must("ls"); strings.Count(listed, "oci://") != 1 {
					t.Errorf("kopf ls:\n%s", listed)
				}
				away.must("rm", ref)
				away.refused(1, []string{ref, "not in the store"}, "run", ref, "--pull", "never", "-n", "default")
				away.file("pinned.tar", home.read("pinned.tar"))
				if loaded := away.must("load", "pinned.tar"); loaded != pushed {
					t.Errorf("loaded %q, want %q", loaded, pushed)
				}
				away.refused(1, []string{cluster}, "run", pushed, "--pull", "never", "-n", "default", "-k", "mine.pub")
			})
		}
	}
}

// TestMirrors: other tools copy an operator and its signature to another registry, where it verifies, and then from the
// store alone.
func TestMirrors(t *testing.T) {
	for name, bundle := range map[string]bool{"tag": false, "bundle": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			outside, inside := registrytest.Start(t, registrytest.Options{Referrers: bundle}), registrytest.Start(t, registrytest.Options{Referrers: bundle})
			b.key("mine", "ECDSA")
			b.key("other", "ECDSA")
			pushed := b.must("push", b.module(), "oci://"+outside.Host+"/me/operator:v1")
			b.must("sign", pushed, "--key", "mine.key", fmt.Sprintf("--bundle=%v", bundle))
			mirror(t, outside.Host+"/me/operator", inside.Host+"/operator", "v1", digestOf(pushed), bundle)
			outside.Stop()

			ref := "oci://" + inside.Host + "/operator:v1"
			if verified := b.must("verify", ref, "-k", "mine.pub"); digestOf(verified) != digestOf(pushed) {
				t.Errorf("verified %s, want %s", verified, pushed)
			}
			b.refused(3, []string{ref}, "verify", ref, "-k", "other.pub")
			b.must("pull", ref)
			inside.Stop()
			b.must("verify", ref, "--pull", "never", "-k", "mine.pub")
			b.refused(1, []string{"no configuration of a cluster"}, "run", ref, "--pull", "never", "-n", "default", "-k", "mine.pub")
			b.refused(1, []string{ref, "unavailable"}, "run", ref, "-n", "default", "-k", "mine.pub")
		})
	}
}

// mirror copies an artifact as `skopeo copy` does, once for each tag, or with what refers to it as `oras cp -r` does.
func mirror(t *testing.T, from, to, tag, digest string, referrers bool) {
	t.Helper()
	if referrers {
		if _, err := oras.ExtendedCopy(t.Context(), repositoryOf(t, from), tag, repositoryOf(t, to), tag, oras.DefaultExtendedCopyOptions); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, tag := range []string{tag, oci.SignatureTag(digest)} {
		if _, err := oras.Copy(t.Context(), repositoryOf(t, from), tag, repositoryOf(t, to), tag, oras.DefaultCopyOptions); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEnginesOfARegistry: scripts in files are run by an engine that `oras push` has pushed, and then by that of the store.
func TestEnginesOfARegistry(t *testing.T) {
	engine, err := filepath.Abs(repository + "/bin/engines/javascript.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(engine); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: the engine is not built: run make engines")
	}
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Options{})
	ref := "oci://" + r.Host + "/engines/javascript:v1"
	files, err := file.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	layer, err := files.Add(t.Context(), "javascript.wasm", layout.MediaModule, engine)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := oras.PackManifest(t.Context(), files, oras.PackManifestVersion1_1, "application/vnd.example", oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}})
	if err != nil {
		t.Fatal(err)
	}
	if err := files.Tag(t.Context(), manifest, "v1"); err != nil {
		t.Fatal(err)
	}
	if _, err := oras.Copy(t.Context(), files, "v1", repositoryOf(t, r.Host+"/engines/javascript"), "v1", oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
	script := b.file("op.js", `kopf.on.create("kopfexamples", function create_fn() {});`)
	if shown := b.must("inspect", script, "--engine", ref); !strings.Contains(shown, "create_fn") {
		t.Errorf("inspect shows\n%s", shown)
	}
	r.Stop()
	if shown := b.must("inspect", script, "--engine", ref, "--pull", "never"); !strings.Contains(shown, "create_fn") {
		t.Errorf("without the registry, inspect shows\n%s", shown)
	}
}

// SBOMs and provenance refer to the artifact, and inspect shows them.
func TestAttached(t *testing.T) {
	for _, referrers := range []bool{true, false} {
		b := newBench(t)
		r := registrytest.Start(t, registrytest.Options{Referrers: referrers})
		ref := "oci://" + r.Host + "/operator:v1"
		b.must("push", b.module(), ref,
			"--attach", b.file("spdx.json", `{"spdxVersion":"SPDX-2.3"}`),
			"--attach", b.file("cyclonedx.json", `{"bomFormat":"CycloneDX"}`),
			"--attach", b.file("provenance.json", `{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://slsa.dev/provenance/v1"}`))
		shown := b.must("inspect", ref)
		for _, want := range []string{"application/spdx+json sha256:", "application/vnd.cyclonedx+json sha256:", "application/vnd.in-toto+json sha256:"} {
			if !strings.Contains(shown, want) {
				t.Errorf("referrers %v: inspect does not tell %s:\n%s", referrers, want, shown)
			}
		}
		b.refused(1, []string{"text.json", "neither an SBOM"}, "push", b.module(), ref, "--attach", b.file("text.json", `{}`))
	}
}
