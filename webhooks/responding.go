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

// Request is what an answer takes from the review it answers.
type Request struct {
	APIVersion string // of the review; admission.k8s.io/v1 by default
	Kind       string // of the review; AdmissionReview by default
	UID        string // of the request
}

// Respond makes the answer to a review: it is allowed if no handler has failed.
// Of several errors one is told: of admission, then permanent, then temporary, then
// any other. The patch is in the answer even if it is not allowed, as in the reference.
func Respond(request Request, failures []*abi.Error, warnings []string, patch []patches.Operation) (dicts.Object, error) {
	response := dicts.Object{"uid": request.UID, "allowed": len(failures) == 0}
	if len(warnings) > 0 {
		list := make([]any, len(warnings))
		for i, warning := range warnings {
			list[i] = warning
		}
		response["warnings"] = list
	}
	if len(patch) > 0 {
		encoded, err := json.Marshal(patch)
		if err != nil {
			return nil, err
		}
		response["patch"] = base64.StdEncoding.EncodeToString(encoded)
		response["patchType"] = "JSONPatch"
	}
	if worst := slices.Clone(failures); len(worst) > 0 {
		slices.SortStableFunc(worst, func(a, b *abi.Error) int { return cmp.Compare(rank(a.Kind), rank(b.Kind)) })
		response["status"] = status(worst[0])
	}
	return dicts.Object{
		"apiVersion": cmp.Or(request.APIVersion, "admission.k8s.io/v1"),
		"kind":       cmp.Or(request.Kind, "AdmissionReview"),
		"response":   response,
	}, nil
}

func rank(kind abi.ErrorKind) int {
	order := []abi.ErrorKind{abi.ErrorAdmission, abi.ErrorPermanent, abi.ErrorTemporary}
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

// status is the error that the user is shown.
func status(failure *abi.Error) dicts.Object {
	code := http.StatusInternalServerError
	if failure.Kind == abi.ErrorAdmission && failure.Code != 0 {
		code = failure.Code
	}
	return dicts.Object{"message": cmp.Or(failure.Message, failure.Type), "code": code}
}
