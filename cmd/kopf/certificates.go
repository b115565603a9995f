//go:build !nosigstore

package main

import (
	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/artifacts/signatures/sigstore"
)

// newCertificateVerifier returns the verifier of certificates. The file with the trusted
// root may be empty.
func newCertificateVerifier(trust string) signatures.CertificateVerifier {
	return &sigstore.Verifier{Trust: trust}
}
