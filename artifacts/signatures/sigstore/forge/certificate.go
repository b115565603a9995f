package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/url"
	"strings"
	"time"

	ct "github.com/google/certificate-transparency-go"
	"github.com/google/certificate-transparency-go/tls"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
)

// oldIssuer is the first extension of Fulcio for the issuer.
//
// See https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md
var oldIssuer = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}

// certified returns a certificate for a wish, and its key. The certificate is valid for ten
// minutes, now or in the past, and has the signature of the log of certificates.
func (f *forge) certified(w *wish) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	from := time.Now().Add(-time.Minute)
	if w.Expired {
		from = from.Add(-30 * time.Minute)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(from.UnixNano()), NotBefore: from, NotAfter: from.Add(10 * time.Minute),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}
	if strings.Contains(w.Subject, "://") {
		u, err := url.Parse(w.Subject)
		if err != nil {
			return nil, nil, err
		}
		template.URIs = []*url.URL{u}
	} else {
		template.EmailAddresses = []string{w.Subject}
	}
	template.ExtraExtensions = []pkix.Extension{{Id: oldIssuer, Value: []byte(w.Issuer)}} // for older programs
	if err := extend(template, certificate.OIDIssuerV2, w.Issuer); err != nil {
		return nil, nil, err
	}
	if w.Repository != "" {
		if err := extend(template, certificate.OIDSourceRepositoryURI, "https://github.com/"+w.Repository); err != nil {
			return nil, nil, err
		}
	}
	if !w.Unlogged {
		if err := f.log(template, key); err != nil {
			return nil, nil, err
		}
	}
	signed, err := f.issue(template, key)
	return signed, key, err
}

func extend(template *x509.Certificate, id asn1.ObjectIdentifier, text string) error {
	value, err := asn1.MarshalWithParams(text, "utf8")
	template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: id, Value: value})
	return err
}

func (f *forge) issue(template *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, f.intermediate, key.Public(), f.issuing)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// log adds the signature of the log of certificates. It signs the certificate without this
// signature.
//
// See https://datatracker.ietf.org/doc/html/rfc6962#section-3.2
func (f *forge) log(template *x509.Certificate, key *ecdsa.PrivateKey) error {
	before, err := f.issue(template, key)
	if err != nil {
		return err
	}
	id, err := logID(f.certificates)
	if err != nil {
		return err
	}
	sct := ct.SignedCertificateTimestamp{SCTVersion: ct.V1, LogID: ct.LogID{KeyID: id}, Timestamp: uint64(time.Now().UnixMilli())}
	entry := ct.LogEntry{Leaf: ct.MerkleTreeLeaf{Version: ct.V1, LeafType: ct.TimestampedEntryLeafType, TimestampedEntry: &ct.TimestampedEntry{
		Timestamp: sct.Timestamp, EntryType: ct.PrecertLogEntryType,
		PrecertEntry: &ct.PreCert{IssuerKeyHash: sha256.Sum256(f.intermediate.RawSubjectPublicKeyInfo), TBSCertificate: before.RawTBSCertificate},
	}}}
	input, err := ct.SerializeSCTSignatureInput(sct, entry)
	if err != nil {
		return err
	}
	signature, err := tls.CreateSignature(*f.certificates, tls.SHA256, input)
	if err != nil {
		return err
	}
	sct.Signature = ct.DigitallySigned(signature)
	one, err := tls.Marshal(sct)
	if err != nil {
		return err
	}
	var list []byte
	for _, n := range []int{len(one) + 2, len(one)} { // the lengths of the list and of its single element
		list = append(list, byte(n>>8), byte(n))
	}
	value, err := asn1.Marshal(append(list, one...))
	template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: value})
	return err
}
