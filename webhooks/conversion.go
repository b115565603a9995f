package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/reactor/reviews"
)

// conversionID is the path of conversion requests. No handler can have this id.
const conversionID = "-/convert"

// conversionAnswer is the response to a conversion request.
type conversionAnswer struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Response   conversionResponse `json:"response"`
}

type conversionResponse struct {
	UID       string            `json:"uid"`
	Converted []json.RawMessage `json:"convertedObjects"`
	Result    conversionResult  `json:"result"`
}

type conversionResult struct {
	Status  string `json:"status"` // Success or Failed
	Message string `json:"message,omitempty"`
}

// convert converts all objects of a request, or fails.
func (h *Handler) convert(ctx context.Context, r *http.Request, body []byte) answer {
	request, err := reviews.DecodeConversion(body)
	if err != nil {
		return failed(err)
	}
	response := conversionResponse{UID: request.UID, Converted: []json.RawMessage{}, Result: conversionResult{Status: "Success"}}
	lease, room, err := h.reserve(ctx, request)
	defer lease.Release() // after a panic, too
	var converted []json.RawMessage
	if err == nil {
		converted, err = h.convertAll(ctx, r, request, lease, room)
	}
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, accounts.ErrLimit) {
			err = context.Cause(ctx)
		}
		h.log.warn("conversion", fmt.Sprintf("An object cannot be converted to %s: %v", cut(request.Desired), err))
		response.Result = conversionResult{"Failed", err.Error()}
		converted = nil
	}
	text, err := json.Marshal(conversionAnswer{request.APIVersion, "ConversionReview", response})
	if err != nil {
		return failed(err)
	}
	return answer{code: http.StatusOK, body: withObjects(text, converted)}
}

// withObjects puts the converted objects into the text of an answer without any. It copies them once: the encoder of the standard
// library takes several copies, in which each < has six bytes.
func withObjects(text []byte, converted []json.RawMessage) []byte {
	_, tail, _ := bytes.Cut(text, []byte(`"convertedObjects":[`)) // no string has it, as its quotes have escapes
	head := text[:len(text)-len(tail)]
	size := len(text) + len(converted)
	for _, object := range converted {
		size += len(object)
	}
	whole := append(make([]byte, 0, size), head...)
	for i, object := range converted {
		if i > 0 {
			whole = append(whole, ',')
		}
		whole = append(whole, object...)
	}
	return append(whole, tail...)
}

// Memory of a conversion, as multiples.
const (
	copiesOfObject = 3 // the decoded object, the result, and what of both is in between
	copiesOfAnswer = 2 // the results, and the text of the answer
)

// reserve waits for the memory of a conversion, with room for results that are as large as the objects.
func (h *Handler) reserve(ctx context.Context, request *reviews.Conversion) (lease *accounts.Lease, room int, err error) {
	largest := 0
	for object := range dicts.Items(request.Objects) {
		largest = max(largest, dicts.Heap(object))
		room += copiesOfAnswer * len(object)
	}
	lease, err = h.operator.Reserve(ctx, copiesOfObject*largest+len(request.Objects)+room) // the request has a copy of their texts
	return lease, room, err
}

// convertAll converts all objects. The lease has room for some of the results, and grows for the others.
func (h *Handler) convertAll(ctx context.Context, r *http.Request, request *reviews.Conversion, lease *accounts.Lease, room int) (converted []json.RawMessage, err error) {
	size := 0
	for object := range dicts.Items(request.Objects) {
		result, err := h.convertObject(ctx, r, object, request.Desired)
		if err != nil {
			return nil, err
		}
		if size += copiesOfAnswer * len(result); size > room {
			if err := lease.Grow(size - room); err != nil {
				return nil, err
			}
			room = size
		}
		converted = append(converted, result)
	}
	return converted, nil
}

// convertObject converts one object. A large object takes several slots.
func (h *Handler) convertObject(ctx context.Context, r *http.Request, object []byte, desired string) ([]byte, error) {
	if int64(len(object)) > h.limits.Body {
		return nil, fmt.Errorf("an object has %d bytes; the limit is %d", len(object), h.limits.Body)
	}
	give, err := h.objects.Take(ctx, conns.AddressOf(r.RemoteAddr), weight(h.objects, len(object)))
	if err != nil {
		return nil, err
	}
	defer give()
	return h.operator.Convert(ctx, object, desired)
}

// conversions keeps the conversion settings of custom resource definitions in step with the
// server. They remain at exit: without conversion, the API server would return objects of
// one version as objects of another version.
type conversions struct {
	cluster Cluster
	log     zerolog.Logger
}

func (c conversions) reconfigure(ctx context.Context, handlers []reviews.Handler, config ClientConfig) error {
	done := map[string]bool{}
	for _, h := range handlers {
		for _, r := range h.Resources {
			name := r.Plural + "." + r.Group
			if h.Spec.Kind != abi.KindConvert || done[name] {
				continue
			}
			done[name] = true
			if err := c.define(ctx, name, config); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c conversions) define(ctx context.Context, name string, config ClientConfig) error {
	path, err := apipath.Of(apipath.Target{
		Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Name: name,
	})
	if err != nil {
		return err
	}
	c.log.Info().Msg(fmt.Sprintf("Reconfiguring the conversion of %s.", name))
	patch := dicts.Encode(dicts.Object{"spec": dicts.Object{"conversion": dicts.Object{
		"strategy": "Webhook",
		"webhook": dicts.Object{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": whole(config.at(conversionID).json()),
		},
	}}})
	err = c.cluster.Patch(ctx, path, patch)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s is not defined by a CustomResourceDefinition, so it cannot be converted", name)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("there are no rights to patch the definition of %s: %w", name, err)
	case err != nil:
		return fmt.Errorf("the conversion of %s: %w", name, err)
	}
	return nil
}

// whole sets what the config does not have to null, because a merge patch would keep what an earlier server has left.
func whole(config dicts.Object) dicts.Object {
	absent(config, "url", "service", "caBundle")
	if service, ok := config["service"].(dicts.Object); ok {
		absent(service, "port", "path")
	}
	return config
}

func absent(object dicts.Object, keys ...string) {
	for _, key := range keys {
		if _, ok := object[key]; !ok {
			object[key] = nil
		}
	}
}
