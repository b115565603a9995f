package oci

import (
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"
)

// retryPolicy repeats requests that may succeed later. It does not repeat requests to a
// registry that hangs, because the caller has waited long enough.
func retryPolicy() retry.Policy {
	return &retry.GenericPolicy{
		Retryable: retryable,
		Backoff:   retry.DefaultBackoff, // or the value of Retry-After
		MinWait:   100 * time.Millisecond,
		MaxWait:   5 * time.Second,
		MaxRetry:  4,
	}
}

func retryable(resp *http.Response, err error) (bool, error) {
	if err != nil {
		var op *net.OpError
		dial := errors.As(err, &op) && op.Op == "dial" && op.Timeout()
		return dial || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF), nil
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, nil
	}
	return false, nil
}
