package reactor

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/diffs"
)

// kwargs are those that only admission handlers get.
func (r *review) kwargs() *abi.Admission {
	return &abi.Admission{
		Operation: r.Operation, Subresource: r.Subresource, DryRun: r.DryRun,
		UserInfo: abi.Raw(r.UserInfo), Headers: r.Headers, SSLPeer: r.SSLPeer,
	}
}

// readOnly tells why the requests of a handler must not write; empty if they may.
func (r *review) readOnly(h *Handler) string {
	switch {
	case r.DryRun:
		return "the review is of a dry run"
	case !h.Spec.SideEffects:
		return "the handler is registered without side effects"
	}
	return ""
}

// segment encodes what most handlers never look at. The states are whole bodies
// here, not essences: nothing is stored that they could be compared with.
func (r *review) segment(tag uint32) []byte {
	switch tag {
	case abi.TagBody, abi.TagFresh:
		return r.Body()
	case abi.TagOld:
		return r.OldObject
	case abi.TagNew:
		return r.Object
	case abi.TagDiff:
		return dicts.Encode(diffs.Compute(decodedOrNil(r.OldObject), decodedOrNil(r.Object), diffs.Full).JSON())
	}
	return nil
}

func decodedOrNil(raw []byte) any {
	if raw == nil {
		return nil
	}
	object, err := dicts.Decode(raw)
	if err != nil {
		return nil // the review was checked before
	}
	return object
}
