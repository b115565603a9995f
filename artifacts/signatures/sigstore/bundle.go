package sigstore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/internal/bounded"
)

// readBundle decodes a bundle.
func readBundle(text []byte) (*bundle.Bundle, error) {
	if err := bounded.JSON(text, maxValues); err != nil {
		return nil, err
	}
	b := &protobundle.Bundle{}
	if err := protojson.Unmarshal(text, b); err != nil {
		return nil, err
	}
	return newBundle(b)
}

// newBundle checks the sizes of a bundle before the library parses its parts.
func newBundle(b *protobundle.Bundle) (*bundle.Bundle, error) {
	if err := checkSizes(b); err != nil {
		return nil, err
	}
	return bundle.NewBundle(b)
}

// assemble makes a bundle of what cosign stores under a tag. Its version is the oldest one,
// which needs the promise of the log only, and no proof.
//
// See https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
func assemble(s *signatures.Signature) (*bundle.Bundle, error) {
	if err := within("certificate", len(s.Certificate), maxPEM); err != nil {
		return nil, err
	}
	block, _ := pem.Decode([]byte(s.Certificate))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("its certificate is not in PEM")
	}
	sum := sha256.Sum256(s.Payload)
	material := &protobundle.VerificationMaterial{
		Content: &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{
			Certificates: []*protocommon.X509Certificate{{RawBytes: block.Bytes}},
		}},
	}
	if s.Log != "" {
		entry, err := readEntry(s.Log)
		if err != nil {
			return nil, fmt.Errorf("its entry in the log: %w", err)
		}
		material.TlogEntries = []*protorekor.TransparencyLogEntry{entry}
	}
	if s.Timestamp != "" {
		var stamped struct{ SignedRFC3161Timestamp []byte }
		if err := unmarshal([]byte(s.Timestamp), &stamped); err != nil {
			return nil, fmt.Errorf("its timestamp: %w", err)
		}
		material.TimestampVerificationData = &protobundle.TimestampVerificationData{
			Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamped.SignedRFC3161Timestamp}},
		}
	}
	return newBundle(&protobundle.Bundle{
		MediaType:            "application/vnd.dev.sigstore.bundle+json;version=0.1",
		VerificationMaterial: material,
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: sum[:]},
			Signature:     s.Raw,
		}},
	})
}

// readEntry decodes the entry of a log as cosign stores it.
func readEntry(text string) (*protorekor.TransparencyLogEntry, error) {
	var stored struct {
		SignedEntryTimestamp []byte
		Payload              struct {
			Body           []byte `json:"body"`
			IntegratedTime int64  `json:"integratedTime"`
			LogIndex       int64  `json:"logIndex"`
			LogID          string `json:"logID"`
		}
	}
	if err := unmarshal([]byte(text), &stored); err != nil {
		return nil, err
	}
	id, err := hex.DecodeString(stored.Payload.LogID)
	if err != nil {
		return nil, err
	}
	if err := within("body", len(stored.Payload.Body), maxEntry); err != nil {
		return nil, err
	}
	var body struct {
		Kind    string `json:"kind"`
		Version string `json:"apiVersion"`
	}
	if err := unmarshal(stored.Payload.Body, &body); err != nil {
		return nil, err
	}
	return &protorekor.TransparencyLogEntry{
		LogIndex:          stored.Payload.LogIndex,
		LogId:             &protocommon.LogId{KeyId: id},
		KindVersion:       &protorekor.KindVersion{Kind: body.Kind, Version: body.Version},
		IntegratedTime:    stored.Payload.IntegratedTime,
		InclusionPromise:  &protorekor.InclusionPromise{SignedEntryTimestamp: stored.SignedEntryTimestamp},
		CanonicalizedBody: stored.Payload.Body,
	}, nil
}
