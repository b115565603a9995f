// Package loggers writes log messages about objects as Kopf does: with Kopf's sentences,
// logger names and fields.
//
// Kopf: kopf._core.actions.loggers (v1.45).
package loggers

import (
	"strings"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/reactor/posting"
)

// Field is the field of log lines that holds the name of the logger, as in Kopf:
// kopf.objects for lines about objects.
const Field = "logger"

// Replica is the field of log lines that holds the name of the replica, if the operator has several.
const Replica = "replica"

// Logger logs about one object. Its messages are Kopf's sentences, because people search
// for them.
//
// Kopf: kopf._core.actions.loggers (v1.45).
type Logger struct {
	*zerolog.Logger
	Name   string      // name of the logger; empty: no field
	refKey string      // field of the reference to the object; empty: no field
	Ref    posting.Ref // reference to the object
	Post   Poster      // posts messages as events; nil: never

	quiet bool // messages below warnings are one level lower
}

// Poster posts log messages about objects as events: those that are written.
type Poster interface {
	// Logged posts a message, if it posts those of the level.
	Logged(level int, ref posting.Ref, message string)
}

// Debug logs at level 10.
func (l Logger) Debug(message string) { l.At(abi.LevelDebug, message) }

// Info logs at level 20.
func (l Logger) Info(message string) { l.At(abi.LevelInfo, message) }

// Warn logs at level 30.
func (l Logger) Warn(message string) { l.At(abi.LevelWarning, message) }

// Error logs at level 40.
func (l Logger) Error(message string) { l.At(abi.LevelError, message) }

// Failure logs an error with the stack that the guest has sent, if any.
func (l Logger) Failure(message, stack string) {
	if stack = strings.TrimRight(stack, "\n"); stack != "" {
		message += "\n" + stack
	}
	l.Error(message)
}

// At logs at one of Kopf's levels, from 10 (debug) to 50 (critical). As in Kopf, messages that are not written are not
// posted either.
func (l Logger) At(level int, message string) {
	if !l.Uses(level) {
		return
	}
	l.WithLevel(l.level(level)).Func(l.Fields).Msg(message)
	if l.Post != nil {
		l.Post.Logged(level, l.Ref, message)
	}
}

// Uses reports whether messages of a level are written. Callers use it to omit messages that cost much.
func (l Logger) Uses(level int) bool { return l.GetLevel() <= l.level(level) }

// level returns the level of lines for one of Kopf's levels.
func (l Logger) level(level int) zerolog.Level {
	if l.quiet && level < abi.LevelWarning {
		return ZerologLevel(level) - 1 // trace, which is never shown, instead of debug
	}
	return ZerologLevel(level)
}

// Fields writes the fields of the logger into a line. A zerolog context with these fields
// would take half a kilobyte for each object with daemons.
func (l Logger) Fields(line *zerolog.Event) {
	if l.Name != "" {
		line.Str(Field, l.Name)
	}
	if l.refKey != "" {
		line.Object(l.refKey, refFields(l.Ref))
	}
}

// Terse returns a logger for handlers that run for every event of many objects: it lowers
// messages below warnings by one level.
func (l Logger) Terse() Logger {
	l.Post, l.quiet = nil, true
	return l
}

// Local returns a logger that posts no events.
func (l Logger) Local() Logger {
	l.Post = nil
	return l
}

// ZerologLevel converts one of the levels of package abi.
func ZerologLevel(level int) zerolog.Level {
	switch {
	case level <= abi.LevelDebug:
		return zerolog.DebugLevel
	case level <= abi.LevelInfo:
		return zerolog.InfoLevel
	case level <= abi.LevelWarning:
		return zerolog.WarnLevel
	case level <= abi.LevelError:
		return zerolog.ErrorLevel
	}
	return zerolog.FatalLevel
}

// refFields writes a reference to an object as Kopf's JSON logs do.
type refFields posting.Ref

// MarshalZerologObject omits an empty namespace.
func (r refFields) MarshalZerologObject(e *zerolog.Event) {
	e.Str("apiVersion", r.APIVersion).Str("kind", r.Kind).Str("name", r.Name).Str("uid", r.UID)
	if r.Namespace != "" {
		e.Str("namespace", r.Namespace)
	}
}

// ForObject makes the logger of an object.
func ForObject(base *zerolog.Logger, refKey string, body dicts.Object) Logger {
	return Logger{Logger: base, Name: "kopf.objects", refKey: refKey, Ref: posting.RefOf(body)}
}

// Apart returns a logger that shares no memory with the body of its object, for what outlives the handling of an event.
func (l Logger) Apart() Logger {
	l.Ref = l.Ref.Clone()
	return l
}

// maxQuoted bounds a name in messages, in bytes. The id of a sub-handler has those of all its parents, and the host writes some
// lines about each of thousands of sub-handlers.
const maxQuoted = 512

// Quote quotes a name as Kopf's messages do.
func Quote(text string) string {
	return "'" + strings.ReplaceAll(legible.Clip(text, maxQuoted), "'", `\'`) + "'"
}

// Scope returns the namespace of a stream as Kopf's messages show it.
func Scope(namespace string) string {
	if namespace == "" {
		return "cluster-wide"
	}
	return "in " + Quote(namespace)
}
