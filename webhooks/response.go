package webhooks

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/patches"
)

// Request holds the fields of a review that its answer repeats.
type Request struct {
	APIVersion string // of the review; admission.k8s.io/v1 by default
	Kind       string // of the review; AdmissionReview by default
	UID        string // of the request
}

// Respond returns the answer to a review, as JSON. The request is allowed if no handler has
// failed. Of several errors, the answer shows one: an admission error first, then a
// permanent one, then a temporary one, then any other. As in Kopf, the answer holds
// the patch even if the request is denied.
func Respond(request Request, failures []*abi.Error, warnings []string, patch []patches.Operation) ([]byte, error) {
	request.APIVersion, request.Kind = cmp.Or(request.APIVersion, "admission.k8s.io/v1"), cmp.Or(request.Kind, "AdmissionReview")
	if len(failures)+len(warnings)+len(patch) == 0 {
		return allowed(request), nil
	}
	response := dicts.Members{{Key: "allowed", Value: len(failures) == 0}}
	if len(patch) > 0 {
		encoded, err := json.Marshal(patch)
		if err != nil {
			return nil, err
		}
		response = append(response, dicts.Member{Key: "patch", Value: base64.StdEncoding.EncodeToString(encoded)}, dicts.Member{Key: "patchType", Value: "JSONPatch"})
	}
	if worst := slices.Clone(failures); len(worst) > 0 {
		slices.SortStableFunc(worst, func(a, b *abi.Error) int { return cmp.Compare(rank(a.Kind), rank(b.Kind)) })
		response = append(response, dicts.Member{Key: "status", Value: status(worst[0])})
	}
	response = append(response, dicts.Member{Key: "uid", Value: request.UID})
	if len(warnings) > 0 {
		response = append(response, dicts.Member{Key: "warnings", Value: dicts.List(warnings)})
	}
	return dicts.Encode(dicts.Members{
		{Key: "apiVersion", Value: request.APIVersion},
		{Key: "kind", Value: request.Kind},
		{Key: "response", Value: response},
	}), nil
}

// allowed is the commonest answer: that of a request which is allowed as it is. It has the text that
// Respond encodes.
func allowed(request Request) []byte {
	const rest = `{"apiVersion":"","kind":"","response":{"allowed":true,"uid":""}}`
	out := make([]byte, 0, len(rest)+len(request.APIVersion)+len(request.Kind)+len(request.UID))
	out = dicts.AppendString(append(out, `{"apiVersion":`...), request.APIVersion)
	out = dicts.AppendString(append(out, `,"kind":`...), request.Kind)
	out = dicts.AppendString(append(out, `,"response":{"allowed":true,"uid":`...), request.UID)
	return append(out, "}}"...)
}

func rank(kind abi.ErrorKind) int {
	order := []abi.ErrorKind{abi.ErrorAdmission, abi.ErrorPermanent, abi.ErrorTemporary}
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

// maxCode is the largest code that fits into an HTTP response.
const maxCode = 999

// status is the error that the user sees. The API server would close the connection for a
// larger code, and show no message.
func status(failure *abi.Error) dicts.Object {
	code := http.StatusInternalServerError
	if failure.Kind == abi.ErrorAdmission && failure.Code != 0 && failure.Code <= maxCode {
		code = failure.Code
	}
	return dicts.Object{"message": failure.Text(), "code": code}
}
