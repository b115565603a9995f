package admission

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/diffs"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/reviews"
)

// review is a request of the API server as a kind of cause.
//
// Kopf: kopf._core.intents.causes.WebhookCause (v1.45).
type review struct{ *reviews.Incoming }

func (r *review) Kwargs(inv *abi.Invocation) {
	inv.Kind = abi.KindValidate
	inv.Admission = &abi.Admission{
		Operation: r.Operation, Subresource: r.Subresource, DryRun: r.DryRun,
		UserInfo: abi.Raw(r.UserInfo), Headers: r.Headers, SSLPeer: r.SSLPeer,
	}
}

// ReadOnly returns why the requests of a handler must not write. It is empty if they may.
func (r *review) ReadOnly(h *registries.Handler) string {
	switch {
	case r.DryRun:
		return "the review is of a dry run"
	case !h.Spec.SideEffects:
		return "the handler is registered without side effects"
	}
	return ""
}

// Segment returns whole bodies as the old and new state, not essences: no stored essence
// exists to compare with.
func (r *review) Segment(_ *handling.Object, tag uint32) ([]byte, bool) {
	switch tag {
	case abi.TagBody, abi.TagFresh:
		return r.Body(), true
	case abi.TagOld:
		return r.OldObject, true
	case abi.TagNew:
		return r.Object, true
	case abi.TagDiff:
		return dicts.Encode(diffs.Compute(decodedOrNil(r.OldObject), decodedOrNil(r.Object), diffs.Full).JSON()), true
	}
	return nil, false
}

func decodedOrNil(raw []byte) any {
	if raw == nil {
		return nil
	}
	object, err := dicts.Decode(raw)
	if err != nil {
		return nil // the review was validated before
	}
	return object
}
