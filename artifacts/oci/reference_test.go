package oci_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/artifacts/oci"
)

func TestParse(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	tests := []struct {
		text string
		want oci.Reference
		bad  string
	}{
		{"oci://ghcr.io/me/operator:v1", oci.Reference{Registry: "ghcr.io", Repository: "me/operator", Tag: "v1"}, ""},
		{"ghcr.io/me/operator:v1", oci.Reference{Registry: "ghcr.io", Repository: "me/operator", Tag: "v1"}, ""},
		{"oci://localhost:5000/op@" + digest, oci.Reference{Registry: "localhost:5000", Repository: "op", Digest: digest}, ""},
		{"oci://[::1]:5000/op:v1@" + digest, oci.Reference{Registry: "[::1]:5000", Repository: "op", Tag: "v1", Digest: digest}, ""},
		{"oci://ghcr.io/me/operator", oci.Reference{}, "name a tag or a digest"},
		{"oci://ghcr.io", oci.Reference{}, "missing registry or repository"},
		{"oci:///op:v1", oci.Reference{}, "invalid registry"},
		{"oci://ghcr.io/Me:v1", oci.Reference{}, "invalid repository"},
		{"oci://ghcr.io/me/../you:v1", oci.Reference{}, "invalid repository"},
		{"oci://ghcr.io/me:-", oci.Reference{}, "invalid"},
		{"oci://ghcr.io/me:no spaces", oci.Reference{}, "invalid"},
		{"oci://ghcr.io/me:-@" + digest, oci.Reference{}, "invalid"},
		{"oci://ghcr.io/me@sha256:abc", oci.Reference{}, "invalid"},
		{"oci://ghcr.io/me@sha512:" + strings.Repeat("0a", 64), oci.Reference{}, "sha256"},
		{"oci://ｇhcr.io/me:v1", oci.Reference{}, "not ASCII"},
		{"oci://gh\u202ecr.io/me:v1", oci.Reference{}, "not ASCII"},
		{"https://ghcr.io/me:v1", oci.Reference{}, "no reference of an artifact"},
		{"", oci.Reference{}, "missing registry or repository"},
	}
	for _, tt := range tests {
		got, err := oci.Parse(tt.text)
		if tt.bad != "" {
			if err == nil || !strings.Contains(err.Error(), tt.bad) || !strings.HasPrefix(strings.TrimPrefix(err.Error(), oci.Scheme), strings.TrimPrefix(tt.text, oci.Scheme)) {
				t.Errorf("%q: error %v, want %q", tt.text, err, tt.bad)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
		if text := oci.Scheme + strings.TrimPrefix(tt.text, oci.Scheme); got.String() != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}
