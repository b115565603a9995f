package oci_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/kopf-wasm/kopf/test/registrytest"
)

// What the oras library pushes as `oras push` does is pulled, and it pulls ours as
// `oras pull` does: into a file of the module's name.
func TestOras(t *testing.T) {
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Options{})
	module, err := os.ReadFile(b.module())
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string]oras.PackManifestOptions{
		"artifact": {},
		"image":    {ConfigDescriptor: &ocispec.Descriptor{}},
	} {
		files, err := file.New(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		layer, err := files.Add(t.Context(), "operator.wasm", "application/wasm", b.module())
		if err != nil {
			t.Fatal(err)
		}
		options.Layers = []ocispec.Descriptor{layer}
		artifactType := "application/vnd.example"
		if options.ConfigDescriptor != nil {
			config, err := oras.PushBytes(t.Context(), files, "application/vnd.unknown.config.v1+json", []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			options.ConfigDescriptor, artifactType = &config, ""
		}
		manifest, err := oras.PackManifest(t.Context(), files, oras.PackManifestVersion1_1, artifactType, options)
		if err != nil {
			t.Fatal(err)
		}
		if err := files.Tag(t.Context(), manifest, "v1"); err != nil {
			t.Fatal(err)
		}
		repo := repositoryOf(t, r.Host+"/"+name)
		if _, err := oras.Copy(t.Context(), files, "v1", repo, "v1", oras.DefaultCopyOptions); err != nil {
			t.Fatal(err)
		}
		b.must("pull", "oci://"+r.Host+"/"+name+":v1", "-o", name+".wasm")
		if b.read(name+".wasm") != string(module) {
			t.Errorf("%s: another module came back", name)
		}
	}
	b.must("push", b.module(), "oci://"+r.Host+"/ours:v1")
	dir := t.TempDir()
	files, err := file.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := oras.Copy(t.Context(), repositoryOf(t, r.Host+"/ours"), "v1", files, "v1", oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "operator.wasm")); err != nil || string(got) != string(module) {
		t.Errorf("oras pulls another module (%v)", err)
	}
	if !strings.Contains(b.must("ls"), "/artifact:v1") {
		t.Error("not in the store")
	}
}

func repositoryOf(t *testing.T, name string) *remote.Repository {
	t.Helper()
	repo, err := remote.NewRepository(name)
	if err != nil {
		t.Fatal(err)
	}
	repo.PlainHTTP = true
	return repo
}
