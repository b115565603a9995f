// Package signatures verifies who has signed an artifact, and whether that fulfils a
// configuration. It supports signatures by keys and by certificates, which cosign stores
// under a tag or as Sigstore bundles among the referrers. The configuration is a
// verification.yml in the format of Kubewarden.
//
// The signed content is always the digest of a manifest. An artifact is therefore verified
// before anything but its manifest is fetched, and then fetched by this digest.
package signatures

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// ErrUnverified says that an artifact lacks the required signatures.
var ErrUnverified = errors.New("not verified")

// Signature is a claimed signature of an artifact. It is untrusted until it has been
// verified.
type Signature struct {
	Where   string // for messages: a tag or a digest
	Payload []byte // the content that cosign signs; nil for bundles
	Raw     []byte // the signature of the payload
	Bundle  []byte // a Sigstore bundle as JSON; nil otherwise

	// Further data that cosign stores with a signature under a tag. Certificate is in PEM,
	// and empty for a key signature. The others are JSON and optional.
	Certificate string
	Log         string // the entry of a transparency log
	Timestamp   string // of a timestamp authority
}

// Signer is the verified signer of a signature.
type Signer struct {
	Identity    string // unique per signer: a key, a GitHub repository, or a subject of an issuer
	Annotations map[string]string

	issued *issued // the identity in the certificate; nil for keys
}

// String returns the identity with the annotations.
func (s *Signer) String() string {
	text := s.Identity
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		text += fmt.Sprintf(" %s=%q", legible.Line(key), s.Annotations[key])
	}
	return text
}

// Limits of the signatures of an artifact.
const (
	maxSignatures = 50
	maxPayload    = 1 << 20
	maxPayloads   = 8 << 20 // all of them
)
