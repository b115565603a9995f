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
	if after, ok := parseRetryAfter(rsp.Header.Get("Retry-After"), time.Now()); ok {
		if status.Details == nil {
			status.Details = &metav1.StatusDetails{}
		}
		status.Details.RetryAfterSeconds = int32(after / time.Second)
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

// isRetriedEvent is isRetried for events: a server that refuses one refuses it again.
func isRetriedEvent(err error) bool {
	code, _ := Code(err)
	return isRetried(err) && code != http.StatusForbidden
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
	return min(time.Duration(seconds)*time.Second, maxRetryAfter), ok && seconds >= 0
}

// maxRetryAfter bounds what a server may ask for. Those that mean it ask for seconds.
const maxRetryAfter = 10 * time.Minute

// parseRetryAfter reads a number of seconds, or a date. What is neither, or lies in the
// past, asks for nothing.
//
// See https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
func parseRetryAfter(text string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds >= 0) { // not a number, or negative
			return 0, false
		}
		return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second)), true
	}
	if date, err := http.ParseTime(text); err == nil && date.After(now) {
		return min(date.Sub(now).Round(time.Second), maxRetryAfter), true
	}
	return 0, false
}
