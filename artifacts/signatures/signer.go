package signatures

import "errors"

// errOtherKey is the error of a signature by a key that the configuration does not name.
var errOtherKey = errors.New("it is not by a required key")

// check returns the signer of a digest, if it is one of the keys.
func (s *Signature) check(digest string, keys []*PublicKey) (*Signer, error) {
	message, raw, read := s.Payload, s.Raw, readPayload
	if s.Bundle != nil {
		e, signature, err := readBundle(s.Bundle)
		if err != nil {
			return nil, err
		}
		message, raw = e.message(), signature
		read = func(_ []byte, digest string) (map[string]string, error) { return readStatement(e.Payload, digest) }
	}
	for _, key := range keys {
		if !key.Verifies(message, raw) {
			continue
		}
		annotations, err := read(message, digest)
		if err != nil {
			return nil, err
		}
		return &Signer{Identity: identityOf(key), Annotations: annotations}, nil
	}
	return nil, errOtherKey
}

// byCertificate reports whether the signature claims to come from a certificate.
func (s *Signature) byCertificate() bool {
	if s.Bundle == nil {
		return s.Certificate != ""
	}
	_, _, err := readBundle(s.Bundle)
	return errors.Is(err, errByCertificate)
}

// identityOf is the identity of a signer with a key.
func identityOf(key *PublicKey) string { return "key " + key.fingerprint }
