package oci

import (
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// TestCredentialsOfConfigs: the first configuration with an entry counts, the longest path
// first. Programs that a configuration names are not run, and no file is read.
func TestCredentialsOfConfigs(t *testing.T) {
	t.Setenv("REGISTRY_AUTH_FILE", "/absent")
	configs := [][]byte{
		[]byte(`{"credsStore":"evil","credHelpers":{"ghcr.io":"evil"}}`),
		[]byte(`{"auths":{"ghcr.io":{"auth":"YTox"},"ghcr.io/team":{"auth":"YToy"}}}`),
	}
	hub := [][]byte{[]byte(`{"auths":{"https://index.docker.io/v1/":{"auth":"YToz"}}}`)}
	if got, err := New(Options{Configs: hub}).credentials(Reference{Registry: "docker.io", Repository: "team/op"})(t.Context(), "registry-1.docker.io"); err != nil || got.Password != "3" {
		t.Errorf("Docker Hub: %v, %v", got, err)
	}
	r := Reference{Registry: "ghcr.io", Repository: "team/op", Tag: "v1"}
	tests := []struct {
		name    string
		configs [][]byte
		asked   string
		want    auth.Credential
	}{
		{"the longest path", configs, "ghcr.io", auth.Credential{Username: "a", Password: "2"}},
		{"another host", configs, "evil.example.com", auth.EmptyCredential},
		{"no configuration", [][]byte{}, "ghcr.io", auth.EmptyCredential},
	}
	for _, tt := range tests {
		got, err := New(Options{Configs: tt.configs}).credentials(r)(t.Context(), tt.asked)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
	if _, err := New(Options{Configs: [][]byte{[]byte("nonsense")}}).credentials(r)(t.Context(), "ghcr.io"); err == nil {
		t.Error("nonsense is accepted")
	}
}
