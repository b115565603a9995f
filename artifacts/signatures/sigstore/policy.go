package sigstore

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
)

// newVerifier requires, besides the certificate, everything that the trusted root can vouch
// for. A private Sigstore may have no logs. It then needs a timestamp authority, because a
// certificate is valid only at a time that a trusted party confirms.
func newVerifier(trusted root.TrustedMaterial) (*verify.Verifier, error) {
	options := []verify.VerifierOption{verify.WithObserverTimestamps(1), verify.WithoutStatementPredicate()}
	if len(trusted.RekorLogs()) > 0 {
		options = append(options, verify.WithTransparencyLog(1))
	}
	if len(trusted.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	return verify.NewVerifier(trusted, options...)
}

// check verifies a signature, and returns its signer. It accepts every signer: the caller
// compares it with the required ones.
func check(verifier *verify.Verifier, digest string, s *signatures.Signature) (signatures.Finding, error) {
	signed, artifact, err := open(digest, s)
	if err != nil {
		return signatures.Finding{}, err
	}
	result, err := verifier.Verify(signed, verify.NewPolicy(artifact, verify.WithoutIdentitiesUnsafe()))
	if err != nil {
		return signatures.Finding{}, err
	}
	if result.Signature == nil || result.Signature.Certificate == nil {
		return signatures.Finding{}, errors.New("it is signed without a certificate")
	}
	payload := s.Payload
	if s.Bundle != nil {
		envelope, err := signed.Envelope()
		if err != nil {
			return signatures.Finding{}, err
		}
		if payload, err = envelope.DecodeB64Payload(); err != nil {
			return signatures.Finding{}, err
		}
	}
	about := result.Signature.Certificate
	repository := about.SourceRepositoryURI
	if repository == "" && about.GithubWorkflowRepository != "" {
		repository = "https://github.com/" + about.GithubWorkflowRepository
	}
	return signatures.Finding{Payload: payload, Issuer: about.Issuer, Subject: about.SubjectAlternativeName, Repository: repository}, nil
}

// open decodes a signature, and returns what it has to sign: the payload that cosign stores
// under a tag, or the artifact itself.
func open(digest string, s *signatures.Signature) (*bundle.Bundle, verify.ArtifactPolicyOption, error) {
	if s.Bundle == nil {
		signed, err := assemble(s)
		return signed, verify.WithArtifact(bytes.NewReader(s.Payload)), err
	}
	signed, err := readBundle(s.Bundle)
	if err != nil {
		return nil, nil, err
	}
	if signed.GetDsseEnvelope() == nil {
		return nil, nil, errors.New("its bundle has no statement")
	}
	sum, err := hex.DecodeString(strings.TrimPrefix(digest, "sha256:"))
	if err != nil {
		return nil, nil, fmt.Errorf("the digest %q: %w", digest, err)
	}
	return signed, verify.WithArtifactDigest("sha256", sum), nil
}
