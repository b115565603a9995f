//go:build nosigstore

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
)

func TestCertificatesWithoutSigstore(t *testing.T) {
	_, err := newCertificateVerifier("").VerifyCertificates(t.Context(), "", nil)
	if !errors.Is(err, signatures.ErrNoCertificates) || !strings.Contains(err.Error(), "nosigstore") {
		t.Errorf("error %v", err)
	}
}
