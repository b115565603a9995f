package sources

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

func (c certificate) read() ([]*x509.Certificate, error) {
	switch c.Type {
	case "Path":
		data, err := boundedfile.ReadNamed(c.Path, maxFile)
		if err != nil {
			return nil, err
		}
		found, err := certificates(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
		return found, nil
	case "Data":
		return certificates([]byte(c.Data))
	}
	return nil, fmt.Errorf("type %q: want Path or Data", c.Type)
}

// Limits of the authorities of one entry. A system has about 150 in all, of two kilobytes
// each.
const (
	maxCertificates = 1000
	maxCertificate  = 64 << 10 // bytes of one
)

// certificates parses one certificate in DER, or several in PEM.
func certificates(data []byte) ([]*x509.Certificate, error) {
	if block, _ := pem.Decode(data); block == nil {
		if len(data) > maxCertificate {
			return nil, fmt.Errorf("neither PEM nor DER of a certificate, which has at most %d bytes", maxCertificate)
		}
		single, err := x509.ParseCertificate(data)
		if err != nil {
			return nil, errors.New("neither PEM nor DER of a certificate")
		}
		return []*x509.Certificate{single}, nil
	}
	var found []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case len(found) == maxCertificates:
			return nil, fmt.Errorf("more than %d certificates", maxCertificates)
		case len(block.Bytes) > maxCertificate:
			return nil, fmt.Errorf("a certificate of %d bytes; at most %d are possible", len(block.Bytes), maxCertificate)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}
