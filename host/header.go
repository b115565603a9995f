package host

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// headerOf encodes an invocation. Its raw values are JSON that the host has checked before. It takes a fifth of the time of the
// encoder of the standard library, which encodes what only few kinds of handlers have.
func headerOf(inv *abi.Invocation) ([]byte, error) {
	if inv.Settings != nil || inv.Logins != nil || inv.Conversion != nil || !isPlainNumber(inv.Runtime) {
		return json.Marshal(inv)
	}
	h := header(append(make([]byte, 0, headerSize), '{'))
	h.number("handler", int64(inv.Handler))
	if inv.Parent != 0 {
		h.number("parent", int64(inv.Parent))
	}
	h.text("kind", string(inv.Kind))
	h.text("id", inv.ID)
	h.raw("param", inv.Param)
	h.number("retry", int64(inv.Retry))
	h.optional("started", inv.Started)
	h.key("runtime")
	h = strconv.AppendFloat(h, inv.Runtime, 'f', -1, 64)
	if inv.Resource != nil {
		h.resource(inv.Resource)
	}
	h.optional("name", inv.Name)
	h.optional("namespace", inv.Namespace)
	h.optional("uid", inv.UID)
	h.optional("reason", inv.Reason)
	h.list("field", inv.Field)
	if inv.EventType != nil {
		h.text("type", *inv.EventType)
	}
	h.optional("activity", inv.Activity)
	if inv.Admission != nil {
		h.admission(inv.Admission)
	}
	h.list("indices", inv.Indices)
	return append(h, '}'), nil
}

// isPlainNumber reports whether the standard library writes a number without an exponent.
func isPlainNumber(n float64) bool {
	const least, most = 1e-6, 1e21
	return n == 0 || math.Abs(n) >= least && math.Abs(n) < most
}

// headerSize is the size of most headers, in bytes.
const headerSize = 1 << 10

// header is an object of JSON that is being written.
type header []byte

// key begins a member.
func (h *header) key(key string) {
	if !h.isEmpty() {
		*h = append(*h, ',')
	}
	*h = append(append(append(*h, '"'), key...), '"', ':')
}

func (h *header) text(key, value string) {
	h.key(key)
	*h = dicts.AppendString(*h, value)
}

func (h *header) optional(key, value string) {
	if value != "" {
		h.text(key, value)
	}
}

func (h *header) number(key string, value int64) {
	h.key(key)
	*h = strconv.AppendInt(*h, value, 10)
}

func (h *header) raw(key string, value abi.Raw) {
	if len(value) > 0 {
		h.key(key)
		*h = append(*h, value...)
	}
}

func (h *header) boolean(key string, value bool) {
	h.key(key)
	*h = strconv.AppendBool(*h, value)
}

func (h *header) list(key string, values []string) {
	if len(values) > 0 {
		h.key(key)
		h.texts(values)
	}
}

func (h *header) texts(values []string) {
	*h = append(*h, '[')
	for i, value := range values {
		if i > 0 {
			*h = append(*h, ',')
		}
		*h = dicts.AppendString(*h, value)
	}
	*h = append(*h, ']')
}

func (h *header) resource(r *abi.ResourceInfo) {
	h.key("resource")
	*h = append(*h, '{')
	h.text("group", r.Group)
	h.text("version", r.Version)
	h.text("plural", r.Plural)
	h.optional("kind", r.Kind)
	h.optional("singular", r.Singular)
	h.list("shortcuts", r.Shortcuts)
	h.list("categories", r.Categories)
	h.list("subresources", r.Subresources)
	h.boolean("namespaced", r.Namespaced)
	h.boolean("preferred", r.Preferred)
	h.list("verbs", r.Verbs)
	*h = append(*h, '}')
}

func (h *header) admission(a *abi.Admission) {
	h.key("admission")
	*h = append(*h, '{')
	h.optional("operation", a.Operation)
	h.optional("subresource", a.Subresource)
	h.boolean("dryrun", a.DryRun)
	h.raw("userinfo", a.UserInfo)
	if len(a.Headers) > 0 {
		h.key("headers")
		*h = append(*h, '{')
		for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
			if !h.isEmpty() {
				*h = append(*h, ',')
			}
			*h = append(dicts.AppendString(*h, name), ':')
			h.texts(a.Headers[name])
		}
		*h = append(*h, '}')
	}
	h.raw("sslpeer", a.SSLPeer)
	*h = append(*h, '}')
}

// isEmpty reports whether the object that is being written has no members yet.
func (h *header) isEmpty() bool { return (*h)[len(*h)-1] == '{' }
