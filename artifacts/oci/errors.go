package oci

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Errors of artifacts and registries. All of them come with the reference.
var (
	// ErrNotFound means that there is no such repository, tag or digest.
	ErrNotFound = errors.New("not found")

	// ErrMissing means that the artifact is there, but not all of its content. The error names
	// the digest that is missing.
	ErrMissing = errors.New("incomplete artifact")

	// ErrDenied means that the registry wants other credentials, or allows too little.
	ErrDenied = errors.New("access denied")

	// ErrUnavailable means that the registry did not answer, or not as it should.
	ErrUnavailable = errors.New("registry unavailable")

	// ErrTampered means that content is not what its digest promises.
	ErrTampered = errors.New("content does not match its digest")

	// ErrLayout means that an artifact holds no module.
	ErrLayout = layout.ErrLayout
)

// maxExplained bounds what an error says of what a registry has sent, in bytes.
const maxExplained = 1000

// clippedError is an error whose text quotes what somebody else has written.
type clippedError struct{ error }

func (e clippedError) Error() string { return legible.Short(e.error.Error(), maxExplained) }

func (e clippedError) Unwrap() error { return e.error }

// explained says in one line what went wrong with a reference.
func explained(r Reference, err error) error {
	if err == nil {
		return nil
	}
	return clippedError{reason(r, err)}
}

func reason(r Reference, err error) error {
	var response *errcode.ErrorResponse
	switch {
	case errors.Is(err, ErrLayout), errors.Is(err, ErrTampered), errors.Is(err, ErrMissing):
		return fmt.Errorf("%s: %w", r, err)
	case errors.As(err, &response):
		return fmt.Errorf("%s: %w", r, answered(r, response))
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fmt.Errorf("%s: %w", r, answered(r, &errcode.ErrorResponse{StatusCode: http.StatusUnauthorized}))
	case errors.Is(err, errCredentials):
		return fmt.Errorf("%s: %w", r, err)
	case isMismatch(err):
		return fmt.Errorf("%s: %w: %w", r, ErrTampered, err)
	case errors.Is(err, errdef.ErrNotFound):
		return fmt.Errorf("%s: %w: the registry does not have it", r, ErrNotFound)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", r, err)
	}
	return fmt.Errorf("%s: %w: %w", r, ErrUnavailable, err)
}

// isMismatch tells whether the library has found another size or digest than the one that was
// asked for. It has no value for these errors.
func isMismatch(err error) bool {
	text := err.Error()
	return strings.Contains(text, "mismatch Content-Length") || strings.Contains(text, "digest mismatch in")
}

// isNotFound tells whether a registry does not have what it was asked for.
func isNotFound(err error) bool {
	var response *errcode.ErrorResponse
	return errors.Is(err, errdef.ErrNotFound) || errors.As(err, &response) && response.StatusCode == http.StatusNotFound
}

// answered explains an answer that is an error.
func answered(r Reference, e *errcode.ErrorResponse) error {
	said := strings.TrimSpace(fmt.Sprintf("%d %s", e.StatusCode, http.StatusText(e.StatusCode)))
	if len(e.Errors) > 0 {
		said += ": " + legible.Short(e.Errors.Error(), 200)
	}
	switch e.StatusCode {
	case http.StatusUnauthorized:
		return fmt.Errorf("%w: the registry wants (other) credentials (%s): docker login %s, or podman login %s", ErrDenied, said, r.Registry, r.Registry)
	case http.StatusForbidden:
		return fmt.Errorf("%w: the credentials do not allow it (%s)", ErrDenied, said)
	case http.StatusNotFound:
		return fmt.Errorf("%w: the registry does not have it (%s)", ErrNotFound, said)
	case http.StatusTooManyRequests:
		return fmt.Errorf("%w: too many requests, try later (%s)", ErrUnavailable, said)
	}
	return fmt.Errorf("%w: it answers %s", ErrUnavailable, said)
}
