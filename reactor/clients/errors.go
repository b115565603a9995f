package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// errorLimit bounds how much of an error's body is read.
const errorLimit = 64 << 10

// readError makes an apimachinery error of a response, so that callers use
// apierrors.IsNotFound and the like.
func readError(rsp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(rsp.Body, errorLimit))
	status := metav1.Status{}
	if json.Unmarshal(body, &status) != nil || status.Kind != "Status" {
		status = metav1.Status{Message: fmt.Sprintf("%s: %.200s", rsp.Status, body)}
	}
	status.Status = metav1.StatusFailure
	status.Code = int32(rsp.StatusCode)
	if status.Reason == "" {
		status.Reason = reasonOf(rsp.StatusCode)
	}
	if after, err := strconv.ParseFloat(rsp.Header.Get("Retry-After"), 64); err == nil {
		if status.Details == nil {
			status.Details = &metav1.StatusDetails{}
		}
		status.Details.RetryAfterSeconds = int32(after)
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// reasonOf gives a reason to answers that come from something before the API
// server, without a status of their own.
func reasonOf(code int) metav1.StatusReason {
	switch code {
	case http.StatusUnauthorized:
		return metav1.StatusReasonUnauthorized
	case http.StatusForbidden:
		return metav1.StatusReasonForbidden
	case http.StatusNotFound:
		return metav1.StatusReasonNotFound
	case http.StatusConflict:
		return metav1.StatusReasonConflict
	case http.StatusGone:
		return metav1.StatusReasonGone
	case http.StatusUnprocessableEntity:
		return metav1.StatusReasonInvalid
	case http.StatusTooManyRequests:
		return metav1.StatusReasonTooManyRequests
	}
	return metav1.StatusReasonUnknown
}

// isRetried tells the errors that are worth another attempt: of the network, of
// the server, and the 403 and 429 of a server that is being upgraded or is busy.
func isRetried(err error) bool {
	code, ok := Code(err)
	if errors.Is(err, credentials.ErrDepleted) {
		return false // there will be no others
	}
	if !ok {
		return true // never reached the server, or lost on the way
	}
	return code >= 500 || code == http.StatusForbidden || code == http.StatusTooManyRequests
}

// Code is the HTTP status of an error, if it came as a response.
func Code(err error) (int, bool) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code), true
	}
	return 0, false
}

func retryAfter(err error) (time.Duration, bool) {
	if code, ok := Code(err); !ok || code != http.StatusTooManyRequests {
		return 0, false
	}
	seconds, ok := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second, ok
}
