// Package signatures says who has signed an artifact, and whether that is enough:
// signatures by keys and by certificates, as cosign stores them under a tag or as Sigstore
// bundles among the referrers, judged by a verification.yml as Kubewarden has it.
//
// What is signed is always the digest of a manifest. So an artifact is verified
// before anything else of it is fetched, and then fetched by this digest.
package signatures

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrUnverified is in the errors about artifacts that are not signed as demanded.
var ErrUnverified = errors.New("not verified")

// Signature is something that claims to be a signature of an artifact. Nothing of
// it is believed before it was checked.
type Signature struct {
	Where   string // for messages: a tag or a digest
	Payload []byte // what cosign signs; nil for bundles
	Raw     []byte // the signature of the payload
	Bundle  []byte // a Sigstore bundle as JSON; nil otherwise

	// What cosign keeps beside a signature under a tag. Certificate is in PEM, empty if
	// a key has signed; the others are JSON, and empty if there are none.
	Certificate string
	Log         string // the entry of a transparency log
	Timestamp   string // of an authority for timestamps
}

// Signer is somebody whose signature was checked.
type Signer struct {
	Identity    string // who it is, once per person: a key, a repository of GitHub, or a subject of an issuer
	Annotations map[string]string

	issued *issued // for whom the certificate is; nil of keys
}

// String is the identity with the annotations.
func (s *Signer) String() string {
	text := s.Identity
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		text += fmt.Sprintf(" %s=%q", key, s.Annotations[key])
	}
	return text
}

// limits of what is read of an artifact's signatures.
const (
	maxSignatures = 50
	maxPayload    = 1 << 20
)
