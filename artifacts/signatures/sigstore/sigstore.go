// Package sigstore verifies signatures by certificates with sigstore-go. It is a module of
// its own, so that programs without it do not require the modules of Sigstore: see
// RATIONALE.md.
package sigstore

import (
	"context"
	"fmt"
	"time"

	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
)

// timeLimit bounds a verification, including the fetch of a trusted root.
const timeLimit = time.Minute

// Verifier implements signatures.CertificateVerifier. The zero value is valid.
type Verifier struct {
	// Trust is a JSON file with a trusted root or a client trust configuration. Default:
	// signatures.DefaultTrust. Without that file, the trusted root of the public Sigstore is
	// fetched once a day.
	Trust string

	// Cache is the directory for the trusted root of the public Sigstore. Default:
	// kopf/sigstore in the user's cache directory.
	Cache string
}

// running has room for one verification in this process. The library cannot be interrupted,
// so a verification that has exceeded its time still runs; it must not be joined by others.
var running = make(chan struct{}, 1)

// VerifyCertificates verifies signatures by certificates. It returns after a minute at the
// latest. Panics of the library become errors.
//
// Errors: the trusted root cannot be read or fetched; the context or the time has ended.
func (v *Verifier) VerifyCertificates(ctx context.Context, digest string, found []signatures.Signature) ([]signatures.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	select {
	case running <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the end of another verification: %w", ctx.Err())
	}
	type result struct {
		findings []signatures.Finding
		err      error
	}
	results := make(chan result, 1)
	// Ends with the signature that it verifies: sizes are bounded, see limits.go.
	go func() {
		defer func() { <-running }()
		findings, err := recovered(func() ([]signatures.Finding, error) { return v.findings(ctx, digest, found) })
		results <- result{findings, err}
	}()
	select {
	case r := <-results:
		return r.findings, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// findings verifies all signatures.
func (v *Verifier) findings(ctx context.Context, digest string, found []signatures.Signature) ([]signatures.Finding, error) {
	trusted, err := v.root(ctx)
	if err != nil {
		return nil, err
	}
	verifier, err := newVerifier(trusted)
	if err != nil {
		return nil, err
	}
	return each(ctx, verifier, digest, found)
}

// each verifies signatures one by one, so that a broken one does not affect the others.
func each(ctx context.Context, verifier *verify.Verifier, digest string, found []signatures.Signature) ([]signatures.Finding, error) {
	findings := make([]signatures.Finding, len(found))
	for i := range found {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		finding, err := recovered(func() (signatures.Finding, error) { return check(verifier, digest, &found[i]) })
		if err != nil {
			finding = signatures.Finding{Err: err}
		}
		findings[i] = finding
	}
	return findings, nil
}

// recovered calls a function that uses the library. A panic becomes an error.
func recovered[T any](call func() (T, error)) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the Sigstore library has panicked: %v", r)
		}
	}()
	return call()
}
