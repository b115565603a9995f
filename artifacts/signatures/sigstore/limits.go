package sigstore

import (
	"encoding/json"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/kopf-wasm/kopf/internal/bounded"
)

// Limits of the parts of a signature, in bytes. The whole has at most 1 MiB. The library
// parses the parts before it knows who has made them, with parsers that take quadratic time:
// nested structures of timestamps, keys with a huge modulus, and PEM without an end. Real
// parts have a few kilobytes.
const (
	maxCertificate = 16 << 10
	maxPEM         = 32 << 10
	maxTimestamp   = 16 << 10
	maxTimestamps  = 32 << 10 // all timestamps of a signature
	maxEntry       = 64 << 10 // the body of an entry in a transparency log
)

// maxValues bounds the values of a JSON document.
const maxValues = 10_000

// within refuses a part that is too large.
func within(part string, size, limit int) error {
	if size > limit {
		return fmt.Errorf("its %s has %d bytes: at most %d are allowed", part, size, limit)
	}
	return nil
}

// checkSizes refuses a bundle with a part that is too large. Call it before
// bundle.NewBundle, which parses the entries of logs.
func checkSizes(b *protobundle.Bundle) error {
	material := b.GetVerificationMaterial()
	if err := within("certificate", len(material.GetCertificate().GetRawBytes()), maxCertificate); err != nil {
		return err
	}
	for _, c := range material.GetX509CertificateChain().GetCertificates() {
		if err := within("certificate", len(c.GetRawBytes()), maxCertificate); err != nil {
			return err
		}
	}
	timestamps := 0
	for _, t := range material.GetTimestampVerificationData().GetRfc3161Timestamps() {
		if err := within("timestamp", len(t.GetSignedTimestamp()), maxTimestamp); err != nil {
			return err
		}
		timestamps += len(t.GetSignedTimestamp())
	}
	if err := within("list of timestamps", timestamps, maxTimestamps); err != nil {
		return err
	}
	for _, entry := range material.GetTlogEntries() {
		body := entry.GetCanonicalizedBody()
		if err := within("entry in the log", len(body), maxEntry); err != nil {
			return err
		}
		if err := bounded.JSON(body, maxValues); err != nil {
			return fmt.Errorf("its entry in the log: %w", err)
		}
	}
	return nil
}

// unmarshal decodes JSON from an untrusted source.
func unmarshal(text []byte, into any) error {
	if err := bounded.JSON(text, maxValues); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
