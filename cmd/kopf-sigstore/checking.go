package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// demands are what a signature needs besides its certificate: whatever the trusted
// root can vouch for. A private Sigstore may have no logs; then it has an authority for
// timestamps, since without a time that somebody vouches for no certificate is valid.
func demands(trusted root.TrustedMaterial) (*verify.Verifier, error) {
	options := []verify.VerifierOption{verify.WithObserverTimestamps(1), verify.WithoutStatementPredicate()}
	if len(trusted.RekorLogs()) > 0 {
		options = append(options, verify.WithTransparencyLog(1))
	}
	if len(trusted.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	return verify.NewVerifier(trusted, options...)
}

// check finds out who has signed. Whether it is somebody who was asked for is not
// decided here.
func check(verifier *verify.Verifier, digest string, s *signature) (finding, error) {
	signed, artifact, err := opened(digest, s)
	if err != nil {
		return finding{}, err
	}
	result, err := verifier.Verify(signed, verify.NewPolicy(artifact, verify.WithoutIdentitiesUnsafe()))
	if err != nil {
		return finding{}, err
	}
	if result.Signature == nil || result.Signature.Certificate == nil {
		return finding{}, errors.New("it is signed without a certificate")
	}
	payload := s.Payload
	if s.Bundle != nil {
		envelope, err := signed.Envelope()
		if err != nil {
			return finding{}, err
		}
		if payload, err = envelope.DecodeB64Payload(); err != nil {
			return finding{}, err
		}
	}
	about := result.Signature.Certificate
	repository := about.SourceRepositoryURI
	if repository == "" && about.GithubWorkflowRepository != "" {
		repository = "https://github.com/" + about.GithubWorkflowRepository
	}
	return finding{Payload: payload, Issuer: about.Issuer, Subject: about.SubjectAlternativeName, Repository: repository}, nil
}

// opened reads a signature, and tells what it has to be of.
func opened(digest string, s *signature) (*bundle.Bundle, verify.ArtifactPolicyOption, error) {
	if s.Bundle == nil {
		signed, err := assembled(s)
		return signed, verify.WithArtifact(bytes.NewReader(s.Payload)), err
	}
	signed := &bundle.Bundle{}
	if err := signed.UnmarshalJSON(s.Bundle); err != nil {
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
