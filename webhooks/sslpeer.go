package webhooks

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// peerOf returns the verified certificate of the client in Python's form, or an empty object
// without one.
//
// See https://docs.python.org/3/library/ssl.html#ssl.SSLSocket.getpeercert
func peerOf(state *tls.ConnectionState) abi.Raw {
	if state == nil || len(state.VerifiedChains) == 0 {
		return abi.Raw("{}")
	}
	return abi.Raw(dicts.Encode(describePeer(state.PeerCertificates[0])))
}

func describePeer(cert *x509.Certificate) dicts.Object {
	peer := dicts.Object{
		"subject": describeName(cert.Subject), "issuer": describeName(cert.Issuer), "version": json.Number(strconv.Itoa(cert.Version)),
		"serialNumber": fmt.Sprintf("%X", cert.SerialNumber.Bytes()),
		"notBefore":    cert.NotBefore.UTC().Format(peerTime), "notAfter": cert.NotAfter.UTC().Format(peerTime),
	}
	var names []any
	add := func(kind, name string) { names = append(names, []any{kind, name}) }
	for _, name := range cert.DNSNames {
		add("DNS", name)
	}
	for _, name := range cert.EmailAddresses {
		add("email", name)
	}
	for _, name := range cert.URIs {
		add("URI", name.String())
	}
	for _, ip := range cert.IPAddresses {
		add("IP Address", ip.String())
	}
	if names != nil {
		peer["subjectAltName"] = names
	}
	return peer
}

// peerTime is the time format of OpenSSL.
const peerTime = "Jan _2 15:04:05 2006 GMT"

// describeName lists the parts of a name in order, each as a list of one pair.
func describeName(name pkix.Name) []any {
	parts := []any{}
	for _, part := range name.Names {
		parts = append(parts, []any{[]any{attributeName(part.Type.String()), fmt.Sprint(part.Value)}})
	}
	return parts
}

// attributeNames maps attributes to their long names in OpenSSL.
var attributeNames = map[string]string{
	"2.5.4.3": "commonName", "2.5.4.5": "serialNumber", "2.5.4.6": "countryName", "2.5.4.7": "localityName",
	"2.5.4.8": "stateOrProvinceName", "2.5.4.9": "streetAddress", "2.5.4.10": "organizationName",
	"2.5.4.11": "organizationalUnitName", "2.5.4.17": "postalCode",
	"1.2.840.113549.1.9.1": "emailAddress", "0.9.2342.19200300.100.1.25": "domainComponent",
}

func attributeName(oid string) string {
	if name, ok := attributeNames[oid]; ok {
		return name
	}
	return oid
}
