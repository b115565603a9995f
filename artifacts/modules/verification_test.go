package modules_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
)

// A tag that moves between the verification and the pull changes nothing: what was
// verified is what is used.
func TestMovedTag(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	good := r.Pack(t, "v1", wasm("good"))
	var verified []string
	f.Verify = func(_ context.Context, ref oci.Reference) error {
		verified = append(verified, ref.Digest)
		r.Pack(t, "v1", wasm("evil"))
		if ref.Digest != good {
			return errors.New("not verified")
		}
		return nil
	}
	found := fetched(t, f, r.Ref("v1").String(), wasm("good"))
	if found.Manifest.Reference.Digest != good {
		t.Errorf("found %s", found.Name)
	}
	if found, err := f.Open(t.Context(), r.Ref("v1").String()); err == nil || found != nil {
		t.Errorf("found %v", found)
	}
	if len(verified) != 2 || verified[0] != good {
		t.Errorf("verified %v", verified)
	}
}

// Before an artifact is verified nothing of it is fetched but its manifest; what is
// in the store is verified, too.
func TestNothingUnverified(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	refuse := errors.New("not verified")
	f.Verify = func(context.Context, oci.Reference) error { return refuse }
	digest := r.Pack(t, "v1", wasm("module"))
	if _, err := f.Open(t.Context(), r.Ref("v1").String()); !errors.Is(err, refuse) {
		t.Errorf("error %v", err)
	}
	for _, req := range r.Requests() {
		if path := req.URL.Path; path != "/v2/" && path != "/v2/"+ocitest.Repository+"/manifests/v1" {
			t.Errorf("requested %s", path)
		}
	}
	f.Verify = nil
	fetched(t, f, r.Ref("v1").String(), wasm("module"))
	f.Verify, f.Pull = func(context.Context, oci.Reference) error { return refuse }, modules.Never
	for _, name := range []string{r.Ref("v1").String(), r.Ref("v1").At(digest).String()} {
		if _, err := f.Open(t.Context(), name); !errors.Is(err, refuse) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := f.Open(t.Context(), "operator.wasm"); !errors.Is(err, modules.ErrFile) {
		t.Errorf("error %v", err)
	}
}
