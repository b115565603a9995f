package oci_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kopf-wasm/kopf/test/registrytest"
)

// A module goes to a registry and comes back, byte for byte, by tag and by digest.
func TestRoundTrip(t *testing.T) {
	tests := []struct {
		name     string
		registry registrytest.Options
		sources  func(r *registrytest.Registry) string
	}{
		{"HTTP on this machine", registrytest.Options{}, nil},
		{"HTTP with credentials", registrytest.Options{User: "me", Password: "secret"}, nil},
		{"referrers of OCI 1.1", registrytest.Options{Referrers: true}, nil},
		{"TLS with an authority", registrytest.Options{TLS: true, User: "me", Password: "secret"}, func(r *registrytest.Registry) string {
			return fmt.Sprintf("source_authorities:\n  %q:\n    - {type: Path, path: %q}\n", r.Host, r.CA)
		}},
		{"TLS that is not checked", registrytest.Options{TLS: true}, func(r *registrytest.Registry) string {
			return fmt.Sprintf("insecure_sources: [%q]\n", r.Host)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := registrytest.Start(t, tt.registry)
			if tt.sources != nil {
				b.file("config/kopf/sources.yaml", tt.sources(r))
			}
			if tt.registry.User != "" {
				b.login(r.Host, tt.registry.User, tt.registry.Password)
			}
			b.roundTrip("oci://" + r.Host + "/some/operator:v1")
		})
	}
}

// login writes credentials where Docker keeps them.
func (b *bench) login(host, user, password string) {
	b.file(".docker/config.json", fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte(user+":"+password))))
}

func (b *bench) roundTrip(ref string) {
	t := b.t
	t.Helper()
	pushed := b.must("push", b.module(), ref, "-a", "org.opencontainers.image.licenses=MIT")
	if !strings.HasPrefix(pushed, ref+"@sha256:") {
		t.Fatalf("pushed %q", pushed)
	}
	if again := b.must("push", b.module(), ref, "-a", "org.opencontainers.image.licenses=MIT"); again != pushed {
		t.Errorf("pushed again as %q, not as %q: it is not the same artifact", again, pushed)
	}
	_, digest, _ := strings.Cut(pushed, "@")
	byDigest := strings.TrimSuffix(ref, ":v1") + "@" + digest
	if pulled := b.must("pull", byDigest, "-o", "back.wasm"); pulled != byDigest {
		t.Errorf("pulled %q, want %q", pulled, byDigest)
	}
	if pulled := b.must("pull", ref); pulled != pushed {
		t.Errorf("pulled %q, want %q", pulled, pushed)
	}
	want, err := os.ReadFile(b.module())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(b.home, "back.wasm")); err != nil || string(got) != string(want) {
		t.Errorf("what came back is not what was sent (%v)", err)
	}
	for _, want := range []string{ref, digest, "MIT"} {
		if shown := b.must("inspect", ref); !strings.Contains(shown, want) {
			t.Errorf("inspect does not tell %s:\n%s", want, shown)
		}
	}
	if listed := b.must("ls"); strings.Count(listed, digest) != 3 { // one of them is in a reference
		t.Errorf("kopf ls:\n%s", listed)
	}
	b.must("rm", digest)
	if listed := b.must("ls"); strings.Contains(listed, digest) {
		t.Errorf("kopf ls after kopf rm:\n%s", listed)
	}
	if left, _ := filepath.Glob(filepath.Join(b.home, "cache/kopf/modules/blobs/sha256/*")); left != nil {
		t.Errorf("left in the store: %v", left)
	}
}

// Processes that pull the same at once all get it, also while others remove it.
func TestConcurrentPullsOfProcesses(t *testing.T) {
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Options{})
	ref := "oci://" + r.Host + "/operator:v1"
	digest := digestOf(b.must("push", b.module(), ref))
	want, err := os.ReadFile(b.module())
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			output := fmt.Sprintf("%d.wasm", i)
			if got := b.kopf("pull", ref, "-o", output); got.code != 0 {
				t.Errorf("exit code %d\n%s", got.code, got.stderr)
			} else if got, err := os.ReadFile(filepath.Join(b.home, output)); err != nil || string(got) != string(want) {
				t.Errorf("another module came (%v)", err)
			}
			if i%3 == 0 {
				b.kopf("rm", digest) // or another process did
			}
		})
	}
	group.Wait()
	b.must("pull", ref)
	if listed := b.must("ls"); strings.Count(listed, ref) != 1 {
		t.Errorf("kopf ls:\n%s", listed)
	}
}

// The error of a bad registry names the reference and the reason.
func TestAccess(t *testing.T) {
	b := newBench(t)
	guarded := registrytest.Start(t, registrytest.Options{TLS: true, User: "me", Password: "secret"})
	ref := "oci://" + guarded.Host + "/some/operator:v1"
	b.refused(1, []string{ref, "certificate"}, "pull", ref)
	b.refused(2, []string{"--pull"}, "run", ref, "--pull", "sometimes")
	b.file("config/kopf/sources.yaml", fmt.Sprintf("source_authorities: {%q: [{type: Path, path: %q}]}", guarded.Host, guarded.CA))
	b.refused(1, []string{ref, "access denied", "401", "docker login " + guarded.Host}, "pull", ref)
	b.login(guarded.Host, "me", "wrong")
	b.refused(1, []string{ref, "access denied"}, "push", b.module(), ref)
	b.login(guarded.Host, "me", "secret")
	b.refused(1, []string{ref, "not found"}, "pull", ref)
	b.refused(1, []string{ref, "not found"}, "run", ref)
	b.refused(1, []string{"missing.yaml"}, "pull", ref, "--sources-path", "missing.yaml")
	b.refused(1, []string{"missing.json"}, "pull", ref, "--docker-config-json-path", "missing.json")
	b.refused(2, []string{"name a tag or a digest"}, "pull", "oci://"+guarded.Host+"/some/operator")

	closed := registrytest.Start(t, registrytest.Options{})
	b.must("push", b.module(), "oci://"+closed.Host+"/op:v1")
	b.must("pull", "oci://"+closed.Host+"/op:v1")
	b.refused(1, []string{"192.0.2.1", "unavailable"}, "pull", "oci://192.0.2.1:1/op:v1", "--sources-path", b.file("proxy.yaml", "proxies: {https_proxy: 'http://127.0.0.1:1'}"))
}

// Credentials are found where Docker and Podman keep them, for a repository first.
func TestCredentials(t *testing.T) {
	r := registrytest.Start(t, registrytest.Options{User: "me", Password: "secret"})
	ref := "oci://" + r.Host + "/team/operator:v1"
	right := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	wrong := base64.StdEncoding.EncodeToString([]byte("me:wrong"))
	auths := func(host, auth string) string { return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, auth) }
	tests := []struct {
		name  string
		setUp func(b *bench)
		works bool
	}{
		{"of Docker", func(b *bench) { b.file(".docker/config.json", auths(r.Host, right)) }, true},
		{"of Docker with a scheme", func(b *bench) { b.file(".docker/config.json", auths("http://"+r.Host, right)) }, true},
		{"of Docker elsewhere", func(b *bench) {
			b.file("docker/config.json", auths(r.Host, right))
			b.env = append(b.env, "DOCKER_CONFIG="+b.home+"/docker")
		}, true},
		{"of Podman", func(b *bench) { b.file("config/containers/auth.json", auths(r.Host, right)) }, true},
		{"of Podman at run time", func(b *bench) {
			b.file("run/containers/auth.json", auths(r.Host, right))
			b.env = append(b.env, "XDG_RUNTIME_DIR="+b.home+"/run")
		}, true},
		{"of Podman for a namespace", func(b *bench) {
			b.file("auth.json", fmt.Sprintf(`{"auths":{%q:{"auth":%q},%q:{"auth":%q}}}`, r.Host, wrong, r.Host+"/team", right))
			b.env = append(b.env, "REGISTRY_AUTH_FILE="+b.home+"/auth.json")
		}, true},
		{"of a helper", func(b *bench) {
			path := b.file("bin/docker-credential-test", fmt.Sprintf("#!/bin/sh\nread host\n[ $host = %s ] && echo '{\"Username\":\"me\",\"Secret\":\"secret\"}'\n", r.Host))
			if err := os.Chmod(path, 0o755); err != nil {
				b.t.Fatal(err)
			}
			b.env = append(b.env, "PATH="+b.home+"/bin:"+os.Getenv("PATH"))
			b.file(".docker/config.json", fmt.Sprintf(`{"credHelpers":{%q:"test"}}`, r.Host))
		}, true},
		{"of another host", func(b *bench) { b.file(".docker/config.json", auths("example.com", right)) }, false},
		{"broken", func(b *bench) { b.file(".docker/config.json", "{") }, false},
		{"none", func(*bench) {}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			tt.setUp(b)
			if r := b.kopf("push", b.module(), ref); (r.code == 0) != tt.works {
				t.Errorf("exit code %d\n%s", r.code, r.stderr)
			}
		})
	}
}

// A module that cannot be written is not there afterwards, and the error tells which one.
func TestFullDiskDuringPull(t *testing.T) {
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Options{})
	ref := "oci://" + r.Host + "/operator:v1"
	pushed := b.must("push", b.module(), ref)
	dir, _ := built()
	// Files of this process may have 100 blocks: the manifest fits, the module does not.
	got := b.run("/bin/sh", "-c", "ulimit -f 100; exec '"+filepath.Join(dir, "kopf")+"' pull "+ref)
	if got.code != 1 || strings.Count(got.stderr, "Error: "+pushed) != 1 || !strings.Contains(got.stderr, "file too large") {
		t.Errorf("exit code %d\n%s", got.code, got.stderr)
	}
	if listed := b.must("ls"); strings.Contains(listed, ref) {
		t.Errorf("kopf ls:\n%s", listed)
	}
	if left, _ := filepath.Glob(filepath.Join(b.home, "cache/kopf/modules/blobs/sha256/"+strings.TrimPrefix(digestOf(pushed), "sha256:")+"*")); left != nil {
		t.Errorf("left: %v", left)
	}
	b.must("pull", ref)
}
