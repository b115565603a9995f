package signatures

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// Verifier verifies artifacts.
type Verifier struct {
	Sources []oci.Attachments // asked in this order, until the signatures suffice
	Config  *Config

	// Certificates verifies certificates. If it is nil, only signatures by keys count, and
	// a configuration that requires certificates fails with ErrNoCertificates.
	Certificates CertificateVerifier
}

// Verify returns the signers of an artifact, if they fulfil the configuration. The reference
// must have a digest, so that a moving tag has no effect.
//
// Errors: ErrUnverified, ErrNoCertificates, or those of the registry and of Certificates.
func (v *Verifier) Verify(ctx context.Context, r oci.Reference) ([]*Signer, error) {
	last := fmt.Errorf("%s: %w: there is no place to look for its signatures: the registry is not to be asked, and there is no store", r, ErrUnverified)
	for _, from := range v.Sources {
		found, err := Collect(ctx, from, r)
		if err != nil {
			last = fmt.Errorf("%s: reading its signatures: %w", r, err)
			continue
		}
		signers, err := v.Config.Verify(ctx, r.Digest, found, v.Certificates)
		if err == nil {
			return signers, nil
		}
		last = fmt.Errorf("%s: %w", r, err)
	}
	return nil, last
}

// DefaultPath is kopf/verification.yml in the user's configuration directory, or empty
// without such a directory.
func DefaultPath() string { return configured("verification.yml") }

// DefaultTrust is kopf/trusted_root.json in the user's configuration directory, or empty
// without such a directory. It is the trusted root for certificates.
func DefaultTrust() string { return configured("trusted_root.json") }

// configured is the path of a file in kopf's part of the user's configuration directory.
func configured(name string) string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "kopf", name)
}

// ReadKeys reads public keys, one from each file.
func ReadKeys(paths []string) ([]*PublicKey, error) {
	var keys []*PublicKey
	for _, path := range paths {
		text, err := boundedfile.Read(path, maxConfig)
		if err != nil {
			return nil, err
		}
		key, err := ParsePublicKey(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}
