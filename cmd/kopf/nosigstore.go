//go:build nosigstore

package main

import (
	"context"
	"fmt"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
)

// newCertificateVerifier returns a verifier that refuses all certificates, because this
// program is built without the Sigstore library.
func newCertificateVerifier(string) signatures.CertificateVerifier { return noCertificates{} }

type noCertificates struct{}

// VerifyCertificates returns an error.
func (noCertificates) VerifyCertificates(context.Context, string, []signatures.Signature) ([]signatures.Finding, error) {
	return nil, fmt.Errorf("%w: it is built with the tag nosigstore; build it without this tag, or require signatures by keys", signatures.ErrNoCertificates)
}
