package kopftest

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// Convert calls a conversion handler for a copy of an object, as a host does, and
// returns the object afterwards: the whole of it, but of its metadata only labels
// and annotations are those of the handler.
func (h *Host) Convert(from, to string, fn kopf.ConvertFunc, object kopf.Map) (kopf.Map, error) {
	h.tb.Helper()
	c := h.Conversion(Fixture{From: from, To: to, Body: object})
	if err := fn(c); err != nil {
		return nil, err
	}
	given := kopf.JSON(h.encode(object)).Map()
	converted := kopf.JSON(h.encode(c.Object)).Map()
	meta, _ := converted["metadata"].(kopf.Map)
	kept, _ := given["metadata"].(kopf.Map)
	if kept == nil {
		kept = kopf.Map{}
	}
	for _, key := range []string{"labels", "annotations"} {
		delete(kept, key)
		if part, ok := meta[key].(kopf.Map); ok && len(part) > 0 {
			kept[key] = part
		}
	}
	delete(converted, "metadata")
	if len(kept) > 0 {
		converted["metadata"] = kept
	}
	converted["apiVersion"] = to // the group is that of the resource
	return converted, nil
}

// RoundTrip checks that objects survive the way to another version and back: a
// cluster converts them again and again, and what is lost once is lost for ever.
//
//	host.RoundTrip("v1", "v2", toV2, toV1, kopf.Map{"spec": kopf.Map{"size": 5}})
func (h *Host) RoundTrip(from, to string, there, back kopf.ConvertFunc, objects ...kopf.Map) {
	h.tb.Helper()
	for i, object := range objects {
		middle, err := h.Convert(from, to, there, object)
		if err != nil {
			h.tb.Errorf("object %d: from %s to %s: %v", i, from, to, err)
			continue
		}
		end, err := h.Convert(to, from, back, middle)
		if err != nil {
			h.tb.Errorf("object %d: back from %s to %s: %v", i, to, from, err)
			continue
		}
		start := kopf.JSON(h.encode(object)).Map()
		start["apiVersion"] = from
		for _, item := range diff(start, end, nil) {
			h.tb.Errorf("object %d: after %s, %s, %s: %s", i, from, to, from, h.encode(item))
		}
	}
}
