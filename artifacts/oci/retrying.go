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

// retryPolicy repeats what may go better the next time. A registry that hangs is
// not asked again: whoever waits has waited long enough.
func retryPolicy() retry.Policy {
	return &retry.GenericPolicy{
		Retryable: retryable,
		Backoff:   retry.DefaultBackoff, // or what Retry-After says
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
