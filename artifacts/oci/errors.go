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

// Errors of artifacts and registries. Each is wrapped with the reference.
var (
	// ErrNotFound says that the repository, the tag or the digest does not exist.
	ErrNotFound = errors.New("not found")

	// ErrMissing says that a part of the artifact is missing. The error names the digest of
	// the part.
	ErrMissing = errors.New("incomplete artifact")

	// ErrDenied says that the registry requires other credentials or more rights.
	ErrDenied = errors.New("access denied")

	// ErrUnavailable says that the registry did not answer, or gave an invalid answer.
	ErrUnavailable = errors.New("registry unavailable")

	// ErrTampered says that content does not match its digest.
	ErrTampered = errors.New("content does not match its digest")

	// ErrLayout says that an artifact does not hold a module.
	ErrLayout = layout.ErrLayout

	// ErrImage says that content is neither a manifest nor an index of manifests.
	ErrImage = layout.ErrImage
)

// maxExplained bounds what an error quotes from a registry, in bytes.
const maxExplained = 1000

// clippedError is an error whose text quotes a registry.
type clippedError struct{ error }

func (e clippedError) Error() string { return legible.Short(e.error.Error(), maxExplained) }

func (e clippedError) Unwrap() error { return e.error }

// explained describes in one line what failed for a reference.
func explained(r Reference, err error) error {
	if err == nil {
		return nil
	}
	return clippedError{reason(r, err)}
}

func reason(r Reference, err error) error {
	var response *errcode.ErrorResponse
	switch {
	case errors.Is(err, ErrLayout), errors.Is(err, ErrImage), errors.Is(err, ErrTampered), errors.Is(err, ErrMissing):
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

// isMismatch reports whether the library found another size or digest than requested. The
// library has no error value for this.
func isMismatch(err error) bool {
	text := err.Error()
	return strings.Contains(text, "mismatch Content-Length") || strings.Contains(text, "digest mismatch in")
}

// isNotFound reports whether a registry answered that something does not exist.
func isNotFound(err error) bool {
	var response *errcode.ErrorResponse
	return errors.Is(err, errdef.ErrNotFound) || errors.As(err, &response) && response.StatusCode == http.StatusNotFound
}

// UnauthorizedError is an ErrDenied that other credentials can remove.
type UnauthorizedError struct {
	Registry string
	Answer   string
}

// Unwrap returns ErrDenied.
func (*UnauthorizedError) Unwrap() error { return ErrDenied }

// Reason is the error without what a user of a command line can do.
func (e *UnauthorizedError) Reason() string {
	return fmt.Sprintf("%v: the registry wants (other) credentials (%s)", ErrDenied, e.Answer)
}

func (e *UnauthorizedError) Error() string {
	return fmt.Sprintf("%s: docker login %s, or podman login %[2]s", e.Reason(), e.Registry)
}

// answered describes an error response.
func answered(r Reference, e *errcode.ErrorResponse) error {
	said := strings.TrimSpace(fmt.Sprintf("%d %s", e.StatusCode, http.StatusText(e.StatusCode)))
	if len(e.Errors) > 0 {
		said += ": " + legible.Short(e.Errors.Error(), 200)
	}
	switch e.StatusCode {
	case http.StatusUnauthorized:
		return &UnauthorizedError{r.Registry, said}
	case http.StatusForbidden:
		return fmt.Errorf("%w: the credentials do not allow it (%s)", ErrDenied, said)
	case http.StatusNotFound:
		return fmt.Errorf("%w: the registry does not have it (%s)", ErrNotFound, said)
	case http.StatusTooManyRequests:
		return fmt.Errorf("%w: too many requests, try later (%s)", ErrUnavailable, said)
	}
	return fmt.Errorf("%w: it answers %s", ErrUnavailable, said)
}
