package signatures

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// CertificateVerifier verifies signatures by certificates. The module
// artifacts/signatures/sigstore implements it with a Sigstore library. Programs that need
// keys only do not link it: see RATIONALE.md.
type CertificateVerifier interface {
	// VerifyCertificates returns a finding for each signature, in the same order. The digest
	// is that of the signed artifact, as "sha256:" and hexadecimal digits.
	//
	// It does not decide whether a signer is a required one.
	//
	// Errors: no signature could be verified, for example because the trusted root is missing.
	VerifyCertificates(ctx context.Context, digest string, found []Signature) ([]Finding, error)
}

// Finding is the result for one signature by a certificate.
type Finding struct {
	Payload    []byte // the signed content: of a bundle, the statement in its envelope
	Issuer     string // URL of the identity provider
	Subject    string // email address, or URL of a workflow
	Repository string // URL of the repository that the workflow ran for; may be empty

	// Err says why the signature is not valid. The other fields are empty then.
	Err error
}

// ErrNoCertificates says that certificates are required, but that the program cannot verify
// any.
var ErrNoCertificates = errors.New("this program cannot verify certificates")

// maxFault bounds the length of errors and identities that come from signatures, in bytes.
const maxFault = 300

// byCertificates returns the signers with certificates, and the faults of the other
// signatures.
func byCertificates(ctx context.Context, by CertificateVerifier, digest string, found []Signature) (signers []*Signer, problems []string, err error) {
	if len(found) == 0 {
		return nil, nil, nil
	}
	if by == nil {
		return nil, nil, ErrNoCertificates
	}
	findings, err := by.VerifyCertificates(ctx, digest, found)
	if err != nil {
		return nil, nil, fmt.Errorf("verifying certificates: %w", err)
	}
	if len(findings) != len(found) {
		return nil, nil, fmt.Errorf("verifying certificates: %d results for %d signatures", len(findings), len(found))
	}
	for i := range findings {
		signer, err := findings[i].signer(digest, found[i].Bundle != nil)
		if err != nil {
			problems = append(problems, found[i].Where+": "+err.Error())
			continue
		}
		signers = append(signers, signer)
	}
	return signers, problems, nil
}

// signer decodes the verified content. It does not use the content of the request.
func (f *Finding) signer(digest string, isBundle bool) (*Signer, error) {
	if f.Err != nil {
		return nil, errors.New(legible.Short(f.Err.Error(), maxFault))
	}
	read := readPayload
	if isBundle {
		read = readStatement
	}
	annotations, err := read(f.Payload, digest)
	if err != nil {
		return nil, err
	}
	about := &issued{issuer: f.Issuer, subject: f.Subject, repository: f.Repository}
	return &Signer{Identity: legible.Short(about.identity(), maxFault), Annotations: annotations, issued: about}, nil
}
