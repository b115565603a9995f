package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
)

// assembled makes a bundle of what cosign puts under a tag, with its oldest version,
// that needs no proof beside the promise of the log.
//
// See https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
func assembled(s *signature) (*bundle.Bundle, error) {
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
		entry, err := logged(s.Log)
		if err != nil {
			return nil, fmt.Errorf("its entry in the log: %w", err)
		}
		material.TlogEntries = []*protorekor.TransparencyLogEntry{entry}
	}
	if s.Timestamp != "" {
		var stamped struct{ SignedRFC3161Timestamp []byte }
		if err := json.Unmarshal([]byte(s.Timestamp), &stamped); err != nil {
			return nil, fmt.Errorf("its timestamp: %w", err)
		}
		material.TimestampVerificationData = &protobundle.TimestampVerificationData{
			Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamped.SignedRFC3161Timestamp}},
		}
	}
	return bundle.NewBundle(&protobundle.Bundle{
		MediaType:            "application/vnd.dev.sigstore.bundle+json;version=0.1",
		VerificationMaterial: material,
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: sum[:]},
			Signature:     s.Raw,
		}},
	})
}

// logged reads the entry of a log as cosign keeps it.
func logged(text string) (*protorekor.TransparencyLogEntry, error) {
	var kept struct {
		SignedEntryTimestamp []byte
		Payload              struct {
			Body           []byte `json:"body"`
			IntegratedTime int64  `json:"integratedTime"`
			LogIndex       int64  `json:"logIndex"`
			LogID          string `json:"logID"`
		}
	}
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return nil, err
	}
	id, err := hex.DecodeString(kept.Payload.LogID)
	if err != nil {
		return nil, err
	}
	var body struct {
		Kind    string `json:"kind"`
		Version string `json:"apiVersion"`
	}
	if err := json.Unmarshal(kept.Payload.Body, &body); err != nil {
		return nil, err
	}
	return &protorekor.TransparencyLogEntry{
		LogIndex:          kept.Payload.LogIndex,
		LogId:             &protocommon.LogId{KeyId: id},
		KindVersion:       &protorekor.KindVersion{Kind: body.Kind, Version: body.Version},
		IntegratedTime:    kept.Payload.IntegratedTime,
		InclusionPromise:  &protorekor.InclusionPromise{SignedEntryTimestamp: kept.SignedEntryTimestamp},
		CanonicalizedBody: kept.Payload.Body,
	}, nil
}
