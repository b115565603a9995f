package main

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"strings"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"google.golang.org/protobuf/encoding/protojson"
)

const statementMedia = "application/vnd.in-toto+json"

// bundle signs as cosign does from version 3.
func (f *forge) bundle(w *wish) (made, error) {
	leaf, key, err := f.certified(w)
	if err != nil {
		return made{}, err
	}
	statement, err := json.Marshal(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://sigstore.dev/cosign/sign/v1", "predicate": map[string]any{},
		"subject": []any{map[string]any{"digest": map[string]string{"sha256": strings.TrimPrefix(w.Digest, "sha256:")}, "annotations": w.Annotations}},
	})
	if err != nil {
		return made{}, err
	}
	raw, err := signed(key, dsse.PAE(statementMedia, statement))
	if err != nil {
		return made{}, err
	}
	envelope := &dsse.Envelope{
		PayloadType: statementMedia, Payload: base64.StdEncoding.EncodeToString(statement),
		Signatures: []dsse.Signature{{Sig: base64.StdEncoding.EncodeToString(raw)}},
	}
	entry, err := f.GenerateTlogEntry(leaf, envelope, raw, time.Now().Unix(), true)
	if err != nil {
		return made{}, err
	}
	proof := entry.TransparencyLogEntry()
	if err := f.promise(proof); err != nil {
		return made{}, err
	}
	text, err := protojson.Marshal(&protobundle.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content:     &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: leaf.Raw}},
			TlogEntries: []*protorekor.TransparencyLogEntry{proof},
		},
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: statement, PayloadType: statementMedia, Signatures: []*protodsse.Signature{{Sig: raw}},
		}},
	})
	return made{Bundle: text}, err
}

// promise adds the promise of the log to an entry, because the library does not return it.
func (f *forge) promise(entry *protorekor.TransparencyLogEntry) error {
	id, err := f.RekorLogID()
	if err != nil {
		return err
	}
	promise, err := f.RekorSignPayload(tlog.RekorPayload{
		Body: base64.StdEncoding.EncodeToString(entry.CanonicalizedBody), IntegratedTime: entry.IntegratedTime, LogIndex: entry.LogIndex, LogID: id,
	})
	entry.KindVersion = &protorekor.KindVersion{Kind: "dsse", Version: "0.0.1"}
	entry.InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: promise}
	return err
}

// tagged signs as cosign did before version 3.
func (f *forge) tagged(w *wish) (made, error) {
	leaf, key, err := f.certified(w)
	if err != nil {
		return made{}, err
	}
	payload, err := json.Marshal(map[string]any{"optional": w.Annotations, "critical": map[string]any{
		"identity": map[string]string{"docker-reference": ""}, "image": map[string]string{"docker-manifest-digest": w.Digest},
		"type": "cosign container image signature",
	}})
	if err != nil {
		return made{}, err
	}
	raw, err := signed(key, payload)
	if err != nil {
		return made{}, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})
	log, err := f.logged(payload, raw, certificate)
	if err != nil {
		return made{}, err
	}
	return made{Payload: payload, Annotations: map[string]string{
		"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(raw),
		"dev.sigstore.cosign/certificate":    string(certificate),
		"dev.sigstore.cosign/bundle":         log,
	}}, nil
}

// logged returns the entry of a log in cosign's own format.
func (f *forge) logged(payload, raw, certificate []byte) (string, error) {
	sum := sha256.Sum256(payload)
	body, err := json.Marshal(map[string]any{"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": map[string]any{
		"data":      map[string]any{"hash": map[string]string{"algorithm": "sha256", "value": hex.EncodeToString(sum[:])}},
		"signature": map[string]any{"content": raw, "publicKey": map[string][]byte{"content": certificate}},
	}})
	if err != nil {
		return "", err
	}
	id, err := f.RekorLogID()
	if err != nil {
		return "", err
	}
	entry := tlog.RekorPayload{Body: base64.StdEncoding.EncodeToString(body), IntegratedTime: time.Now().Unix(), LogIndex: 1000, LogID: id}
	promise, err := f.RekorSignPayload(entry)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"SignedEntryTimestamp": promise, "Payload": entry})
	return string(text), err
}

func signed(key *ecdsa.PrivateKey, message []byte) ([]byte, error) {
	sum := sha256.Sum256(message)
	return ecdsa.SignASN1(rand.Reader, key, sum[:])
}
