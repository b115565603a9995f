package clients

import (
	"bytes"
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

// errorLimit limits how much of an error's body is read, in bytes.
const errorLimit = 64 << 10

// ReadError makes an apimachinery error from a response, so that callers can use
// apierrors.IsNotFound and similar functions. It does not close the response.
func ReadError(rsp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(rsp.Body, errorLimit))
	status := metav1.Status{}
	if json.Unmarshal(body, &status) != nil || status.Kind != "Status" {
		status = metav1.Status{Message: fmt.Sprintf("%s: %.200s", rsp.Status, bytes.TrimSpace(body))}
	}
	status.Status = metav1.StatusFailure
	status.Code = int32(rsp.StatusCode)
	if status.Reason == "" {
		status.Reason = reasonOf(rsp.StatusCode)
	}
	if after, ok := parseRetryAfter(rsp.Header.Get("Retry-After"), time.Now()); ok {
		if status.Details == nil {
			status.Details = &metav1.StatusDetails{}
		}
		status.Details.RetryAfterSeconds = int32(after / time.Second)
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// reasonOf returns a reason for a response without a status, such as one from a proxy
// before the API server.
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

// isRetried reports whether an error justifies another attempt: network errors, server
// errors, and the 403 and 429 of a server that is busy or being upgraded.
func isRetried(err error) bool {
	code, ok := Code(err)
	if errors.Is(err, credentials.ErrDepleted) {
		return false // no further credentials follow
	}
	if !ok {
		return true // the request never reached the server, or the response was lost
	}
	return code >= 500 || code == http.StatusForbidden || code == http.StatusTooManyRequests
}

// isUnrefused is isRetried where a 403 is final: a server that refuses an event refuses it
// again, and a shared watch has another account to try.
func isUnrefused(err error) bool {
	code, _ := Code(err)
	return isRetried(err) && code != http.StatusForbidden
}

// Code returns the HTTP status of an error, and false if the error did not come from a
// response.
func Code(err error) (int, bool) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code), true
	}
	return 0, false
}

// IsInvalid reports whether the API server refuses what a patch makes of an object, and names the fields. It names none if
// the tests of a JSON patch fail, which has the same status.
func IsInvalid(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return s.Code == http.StatusUnprocessableEntity && s.Details != nil && len(s.Details.Causes) > 0
}

func retryAfter(err error) (time.Duration, bool) {
	if code, ok := Code(err); !ok || code != http.StatusTooManyRequests {
		return 0, false
	}
	seconds, ok := apierrors.SuggestsClientDelay(err)
	return min(time.Duration(seconds)*time.Second, maxRetryAfter), ok && seconds >= 0
}

// maxRetryAfter limits Retry-After. Genuine values are a few seconds.
const maxRetryAfter = 10 * time.Minute

// parseRetryAfter parses a number of seconds or a date. It returns false for any other
// text, and for a time in the past.
//
// See https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
func parseRetryAfter(text string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds >= 0) { // NaN or negative
			return 0, false
		}
		return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second)), true
	}
	if date, err := http.ParseTime(text); err == nil && date.After(now) {
		return min(date.Sub(now).Round(time.Second), maxRetryAfter), true
	}
	return 0, false
}
