package signatures

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// mediaBundle is the media type of a Sigstore bundle, and of the artifact with it.
//
// See https://docs.sigstore.dev/about/bundle/
const mediaBundle = "application/vnd.dev.sigstore.bundle.v0.3+json"

const (
	statementType  = "https://in-toto.io/Statement/v1"
	statementMedia = "application/vnd.in-toto+json"
	predicateSign  = "https://sigstore.dev/cosign/sign/v1"
)

// bundle holds the used fields of a Sigstore bundle with a key signature.
type bundle struct {
	MediaType string `json:"mediaType"`
	Material  struct {
		PublicKey *struct {
			Hint string `json:"hint,omitempty"`
		} `json:"publicKey,omitempty"`
	} `json:"verificationMaterial"`
	Envelope *envelope `json:"dsseEnvelope,omitempty"`
}

// envelope holds the signed content and its signatures.
//
// See https://github.com/secure-systems-lab/dsse/blob/v1.0.2/envelope.md
type envelope struct {
	Payload     []byte `json:"payload"`
	PayloadType string `json:"payloadType"`
	Signatures  []struct {
		Sig []byte `json:"sig"`
	} `json:"signatures"`
}

// statement is an in-toto statement about artifacts.
//
// See https://github.com/in-toto/attestation/blob/v1.1.0/spec/v1/statement.md
type statement struct {
	Type          string          `json:"_type"`
	Subject       []subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

type subject struct {
	Name        string            `json:"name,omitempty"`
	Digest      map[string]string `json:"digest"`
	Annotations map[string]any    `json:"annotations,omitempty"`
}

// message is the part of an envelope that is signed.
func (e *envelope) message() []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(e.Payload), e.Payload)
}

// newBundle signs a digest, and returns a Sigstore bundle.
func newBundle(key *PrivateKey, digest string, annotations map[string]string) ([]byte, error) {
	about := subject{Digest: map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}}
	for name, value := range annotations {
		if about.Annotations == nil {
			about.Annotations = map[string]any{}
		}
		about.Annotations[name] = value
	}
	text, err := json.Marshal(statement{Type: statementType, Subject: []subject{about}, PredicateType: predicateSign, Predicate: json.RawMessage("{}")})
	if err != nil {
		return nil, err
	}
	b := bundle{MediaType: mediaBundle, Envelope: &envelope{Payload: text, PayloadType: statementMedia}}
	sum, err := hex.DecodeString(key.public.fingerprint)
	if err != nil {
		return nil, err
	}
	b.Material.PublicKey = &struct {
		Hint string `json:"hint,omitempty"`
	}{base64.StdEncoding.EncodeToString(sum)}
	signature, err := key.Sign(b.Envelope.message())
	if err != nil {
		return nil, err
	}
	b.Envelope.Signatures = append(b.Envelope.Signatures, struct {
		Sig []byte `json:"sig"`
	}{signature})
	return json.Marshal(b)
}

// errByCertificate says that a certificate, not a key, has signed a bundle.
var errByCertificate = errors.New("it is signed with a certificate, not with a key")

// readBundle decodes a bundle with a key signature. It returns the envelope and its single
// signature.
func readBundle(raw []byte) (*envelope, []byte, error) {
	var b bundle
	if err := unmarshal(raw, &b); err != nil {
		return nil, nil, fmt.Errorf("its bundle cannot be read: %w", err)
	}
	switch {
	case !isBundle(b.MediaType):
		return nil, nil, fmt.Errorf("its bundle is of the type %q", b.MediaType)
	case b.Material.PublicKey == nil:
		return nil, nil, errByCertificate
	case b.Envelope == nil || len(b.Envelope.Signatures) != 1 || b.Envelope.PayloadType != statementMedia:
		return nil, nil, errors.New("its bundle has no statement with one signature")
	}
	return b.Envelope, b.Envelope.Signatures[0].Sig, nil
}

// readStatement checks that a statement signs a digest, and returns its annotations.
func readStatement(raw []byte, digest string) (map[string]string, error) {
	var s statement
	if err := unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("its statement cannot be read: %w", err)
	}
	switch {
	case s.Type != statementType && s.Type != "https://in-toto.io/Statement/v0.1":
		return nil, fmt.Errorf("its statement is of the type %q", s.Type)
	case s.PredicateType != predicateSign:
		return nil, fmt.Errorf("its statement is not a signature, but %q", s.PredicateType)
	}
	for _, about := range s.Subject {
		if "sha256:"+about.Digest["sha256"] == digest {
			return texts(about.Annotations), nil
		}
	}
	return nil, errors.New("it signs another artifact")
}
