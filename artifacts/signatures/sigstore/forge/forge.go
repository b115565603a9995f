package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
)

// forge has the logs of the library's own tests, and an authority for certificates with
// arbitrary content.
type forge struct {
	*ca.VirtualSigstore
	authority    *x509.Certificate
	intermediate *x509.Certificate
	issuing      *ecdsa.PrivateKey
	certificates *ecdsa.PrivateKey // of the log of certificates
}

func newForge() (*forge, error) {
	virtual, err := ca.NewVirtualSigstore()
	if err != nil {
		return nil, err
	}
	f := &forge{VirtualSigstore: virtual}
	var key *ecdsa.PrivateKey
	if f.authority, key, err = ca.GenerateRootCa(); err != nil {
		return nil, err
	}
	if f.intermediate, f.issuing, err = ca.GenerateFulcioIntermediate(f.authority, key); err != nil {
		return nil, err
	}
	f.certificates, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return f, err
}

// trusted returns the trusted root for all signatures of the forge.
func (f *forge) trusted() (json.RawMessage, error) {
	rekor := f.RekorLogs()
	for id, log := range rekor {
		raw, err := hex.DecodeString(id)
		if err != nil {
			return nil, err
		}
		log.ID = raw
	}
	id, err := logID(f.certificates)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	certificates := map[string]*root.TransparencyLog{hex.EncodeToString(id[:]): {
		BaseURL: "https://certificates.test", ID: id[:], HashFunc: crypto.SHA256, SignatureHashFunc: crypto.SHA256, PublicKey: f.certificates.Public(),
		ValidityPeriodStart: now.Add(-24 * time.Hour), ValidityPeriodEnd: now.Add(24 * time.Hour),
	}}
	authority := &root.FulcioCertificateAuthority{
		URI: "https://authority.test", Root: f.authority, Intermediates: []*x509.Certificate{f.intermediate},
		ValidityPeriodStart: now.Add(-24 * time.Hour), ValidityPeriodEnd: now.Add(24 * time.Hour),
	}
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01, []root.CertificateAuthority{authority}, certificates, f.TimestampingAuthorities(), rekor)
	if err != nil {
		return nil, err
	}
	return trusted.MarshalJSON()
}

// logID returns the id of a log, which is derived from its key.
func logID(key *ecdsa.PrivateKey) ([32]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	return sha256.Sum256(der), err
}
