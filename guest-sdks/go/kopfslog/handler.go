// Package kopfslog lets code that logs by log/slog write to the log of the handled object. It is
// a package of its own, as log/slog makes a module 1 MB larger:
//
//	log := slog.New(kopfslog.NewHandler(c.Log))
//	log.Warn("resized", "size", size)
package kopfslog

import (
	"context"
	"log/slog"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// Handler writes records to the log of a handled object. Groups become prefixes of keys:
// request.size. The host decides by its own level what is shown.
type Handler struct {
	log    kopf.Logger
	prefix string // of the keys: that of the open groups
	pairs  []any  // of WithAttrs
}

var _ slog.Handler = (*Handler)(nil)

// NewHandler is a handler for the log of an object: Call.Log.
func NewHandler(log kopf.Logger) *Handler { return &Handler{log: log} }

// Enabled is always true: the host decides.
func (h *Handler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes a record. Its time is that of the host.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	pairs := h.pairs[:len(h.pairs):len(h.pairs)]
	r.Attrs(func(a slog.Attr) bool {
		pairs = appendAttr(pairs, h.prefix, a)
		return true
	})
	h.log.Log(levelOf(r.Level), r.Message, pairs...)
	return nil
}

// WithAttrs is a handler whose records all have these attributes.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.pairs = h.pairs[:len(h.pairs):len(h.pairs)]
	for _, a := range attrs {
		with.pairs = appendAttr(with.pairs, h.prefix, a)
	}
	return &with
}

// WithGroup is a handler that puts the name before all keys.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.prefix += name + "."
	return &with
}

// appendAttr adds an attribute as a key and a value, and a group as those of its members.
func appendAttr(pairs []any, prefix string, a slog.Attr) []any {
	value := a.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if a.Equal(slog.Attr{}) {
			return pairs
		}
		if value.Kind() == slog.KindAny {
			return append(pairs, prefix+a.Key, value.Any())
		}
		return append(pairs, prefix+a.Key, value.String())
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, member := range value.Group() {
		pairs = appendAttr(pairs, prefix, member)
	}
	return pairs
}

// levelOf is the level of the host below or at a level of slog.
func levelOf(level slog.Level) int {
	switch {
	case level > slog.LevelError:
		return kopf.LevelCritical
	case level >= slog.LevelError:
		return kopf.LevelError
	case level >= slog.LevelWarn:
		return kopf.LevelWarn
	case level >= slog.LevelInfo:
		return kopf.LevelInfo
	}
	return kopf.LevelDebug
}
