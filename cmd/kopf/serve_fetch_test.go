package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
)

// TestModulesOfDeclarations: what a declaration of a cluster can name, and what it cannot.
func TestModulesOfDeclarations(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	registry := ocitest.New(t)
	registry.Pack(t, "v1", []byte("\x00asm\x01\x00\x00\x00"))
	here := registry.Ref("v1")
	public := publicKey(t)
	closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer closed.Close()
	private := strings.TrimPrefix(closed.URL, "http://")
	f := newFetcher(registryOptions{}, &verificationOptions{}, []string{here.Registry, private})
	secret := map[string][]byte{".dockerconfigjson": []byte(`{"auths":{}}`)}
	tests := []struct {
		name, module string
		keys         []string
		secrets      []map[string][]byte
		of           api.ConditionType
		reason, says string
	}{
		{"an allowed registry", here.String(), nil, []map[string][]byte{secret}, "", "", ""},
		{"a missing tag", registry.Ref("v2").String(), nil, nil, api.Resolved, "ModuleMissing", "some/operator:v2"},
		{"a file", "/etc/passwd", nil, nil, api.Resolved, "ModuleNotAllowed", "spec.module: "},
		{"the host's machine", "oci://localhost/op:v1", nil, nil, api.Resolved, "ModuleNotAllowed", "--allow-registry"},
		{"an address", "oci://169.254.169.254/op:v1", nil, nil, api.Resolved, "ModuleNotAllowed", "--allow-registry"},
		{"another port", "oci://ghcr.io:8080/op:v1", nil, nil, api.Resolved, "ModuleNotAllowed", "--allow-registry"},
		{"another registry", "oci://ghcr.io/me/op:v1", nil, nil, api.Resolved, "ModuleNotAllowed", "does not ask the registry ghcr.io"},
		{"no signature", here.String(), []string{public}, nil, api.Verified, "Unsigned", here.Repository},
		{"no key", here.String(), []string{"nonsense"}, nil, api.Accepted, "InvalidSpec", "spec.verification.keys[0]"},
		{"another secret", here.String(), nil, []map[string][]byte{{"password": nil}}, api.Resolved, "PullSecretInvalid", "spec.pullSecrets[0]: secret0 is not a secret of the type kubernetes.io/dockerconfigjson"},
		{"no credentials", "oci://" + private + "/op:v1", nil, nil, api.Resolved, "PullDenied", "(401 Unauthorized); name secrets with credentials in spec.pullSecrets"},
		{"credentials for another registry", "oci://" + private + "/op:v1", nil, []map[string][]byte{secret}, api.Resolved, "PullDenied", "(401 Unauthorized); check the credentials for " + private + " in spec.pullSecrets: secret0"},
	}
	for _, tt := range tests {
		d := &hosting.Declaration{Spec: api.Spec{Module: tt.module}}
		if tt.keys != nil {
			d.Spec.Verification = &api.Verification{Keys: tt.keys}
		}
		for i := range tt.secrets {
			d.Spec.PullSecrets = append(d.Spec.PullSecrets, fmt.Sprint("secret", i))
		}
		got, err := f.fetch(t.Context(), d, tt.secrets)
		var refusal *hosting.Refusal
		switch {
		case tt.reason == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.reason == "":
			if _, wasm, err := got.Open(context.WithoutCancel(t.Context()), ""); err != nil || len(wasm) != 8 || got.Signed || !strings.Contains(got.Artifact, "@sha256:") {
				t.Errorf("%s: %+v, %v", tt.name, got, err)
			}
		case !errors.As(err, &refusal) || refusal.Condition != tt.of || refusal.Reason != tt.reason || !strings.Contains(err.Error(), tt.says):
			t.Errorf("%s: %+v", tt.name, refusal)
		}
	}
}

// TestFoldersAreHeldToTheFlags: without --allow-registry, a folder may name any registry.
func TestFoldersAreHeldToTheFlags(t *testing.T) {
	d := &hosting.Declaration{Local: t.TempDir(), Spec: api.Spec{Module: "oci://localhost:5000/op:v1"}}
	for registry, good := range map[string]bool{"": true, "localhost:5000": true, "ghcr.io": false} {
		f := newFetcher(registryOptions{}, &verificationOptions{}, nil)
		if registry != "" {
			f.registries = []string{registry}
		}
		if err := f.check(d); (err == nil) != good || err != nil && !strings.Contains(err.Error(), "--allow-registry") {
			t.Errorf("--allow-registry %q: %v", registry, err)
		}
		if good {
			continue // the registry would be asked
		}
		if _, err := f.fetch(t.Context(), d, nil); err == nil || !strings.Contains(err.Error(), "--allow-registry") {
			t.Errorf("--allow-registry %q: fetched, %v", registry, err)
		}
	}
}

// TestHostsFetchWhatTheLeaderRuns: although the tag has moved since, and only from the repository that the author has named.
func TestHostsFetchWhatTheLeaderRuns(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	registry := ocitest.New(t)
	tag := registry.Ref("v1")
	f := newFetcher(registryOptions{}, &verificationOptions{}, []string{tag.Registry})
	fetch := func(module, pin string) (*hosting.Fetched, error) {
		return f.fetch(t.Context(), &hosting.Declaration{Spec: api.Spec{Module: module}, Pin: pin}, nil)
	}
	pins := make([]string, 2)
	for i := range pins {
		registry.Pack(t, "v1", append([]byte("\x00asm\x01\x00\x00\x00"), 0, byte(i+1), byte(i))) // a section without meaning
		got, err := fetch(tag.String(), "")
		if err != nil {
			t.Fatal(err)
		}
		pins[i] = got.Artifact
	}
	for _, pin := range pins {
		if got, err := fetch(tag.String(), pin); err != nil || got.Artifact != pin {
			t.Errorf("the pin %s gives %+v, %v", pin, got, err)
		}
	}
	_, digest, _ := strings.Cut(pins[1], "@")
	for _, wrong := range [][2]string{
		{tag.String(), strings.Replace(pins[0], tag.Repository, "another/operator", 1)},
		{tag.String(), "oci://ghcr.io/me/op@" + digest},
		{tag.String(), tag.String()}, // without a digest
		{pins[0], pins[1]},
	} {
		if got, err := fetch(wrong[0], wrong[1]); err == nil {
			t.Errorf("%s with the pin %s gives %+v", wrong[0], wrong[1], got)
		}
	}
}

// publicKey is a new key in PEM.
func publicKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}
