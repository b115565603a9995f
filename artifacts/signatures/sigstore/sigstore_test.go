package sigstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
)

const digest = "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

// A broken signature is a finding, and does not affect the others.
func TestBrokenSignatures(t *testing.T) {
	v := &Verifier{Trust: file(t, emptyRoot)}
	for _, tt := range []struct {
		name, words string
		signature   signatures.Signature
	}{
		{"an empty bundle", "", signatures.Signature{Bundle: []byte(`{}`)}},
		{"a bundle of another type", "", signatures.Signature{Bundle: []byte(`[]`)}},
		{"a deep bundle", "levels of nesting", signatures.Signature{Bundle: []byte(strings.Repeat("[", 1000))}},
		{"no certificate", "its certificate is not in PEM", signatures.Signature{Payload: []byte("{}")}},
		{"a broken entry", "its entry in the log", signatures.Signature{Certificate: certificate(nil), Log: "[]"}},
		{"a broken timestamp", "its timestamp", signatures.Signature{Certificate: certificate(nil), Timestamp: "[]"}},
	} {
		found, err := v.VerifyCertificates(t.Context(), digest, []signatures.Signature{tt.signature, {}})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if len(found) != 2 || found[0].Err == nil || !strings.Contains(found[0].Err.Error(), tt.words) || found[1].Err == nil {
			t.Errorf("%s: %+v, want %q", tt.name, found, tt.words)
		}
	}
	if found, err := v.VerifyCertificates(t.Context(), digest, nil); err != nil || len(found) != 0 {
		t.Errorf("no signatures: %v, error %v", found, err)
	}
}

// A panic of the library is an error.
func TestPanicsOfLibrary(t *testing.T) {
	var list []int
	_, err := recovered(func() (int, error) { return list[0], nil })
	if err == nil || !strings.Contains(err.Error(), "the Sigstore library has panicked: runtime error: index out of range") {
		t.Errorf("error %v", err)
	}
}

// A verification waits for the end of another one, but not longer than its context.
func TestOneVerificationAtATime(t *testing.T) {
	running <- struct{}{}
	v := &Verifier{Trust: file(t, emptyRoot)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := v.VerifyCertificates(ctx, digest, nil)
	<-running
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "another verification") {
		t.Errorf("error %v", err)
	}
	if _, err := v.VerifyCertificates(t.Context(), digest, nil); err != nil {
		t.Errorf("after the end of the other verification: error %v", err)
	}
}
