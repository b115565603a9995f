// Package loggers writes log messages about objects as the reference does: its sentences,
// its names of loggers, and its fields.
//
// Kopf: kopf._core.actions.loggers (v1.45).
package loggers

import (
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/posting"
)

// Field is the field of log lines that names their logger, as in the
// reference: kopf.objects for lines about objects.
const Field = "logger"

// Logger logs about one object. The messages are the sentences of the reference,
// since people search for them.
//
// Kopf: kopf._core.actions.loggers (v1.45).
type Logger struct {
	*zerolog.Logger
	Name   string                                           // of the logger; none if empty
	refKey string                                           // the field of the reference to the object; none if empty
	Ref    posting.Ref                                      // to the object
	Post   func(level int, ref posting.Ref, message string) // as an event; nil: never

	quiet bool // what is below warnings is one level lower
}

// Levels of the reference.
const (
	LevelDebug = 10
	LevelInfo  = 20
	LevelWarn  = 30
	LevelError = 40
)

func (l Logger) Debug(message string) { l.At(LevelDebug, message) }
func (l Logger) Info(message string)  { l.At(LevelInfo, message) }
func (l Logger) Warn(message string)  { l.At(LevelWarn, message) }
func (l Logger) Error(message string) { l.At(LevelError, message) }

// Failure logs an error with the stack that the guest has sent, if any.
func (l Logger) Failure(message, stack string) {
	if stack = strings.TrimRight(stack, "\n"); stack != "" {
		message += "\n" + stack
	}
	l.Error(message)
}

// At logs with a level of the reference: 10 debug to 50 critical.
func (l Logger) At(level int, message string) {
	zlevel := ZerologLevel(level)
	if l.quiet && level < LevelWarn {
		zlevel-- // debug becomes trace, which is never shown
	}
	if l.GetLevel() <= zlevel {
		l.WithLevel(zlevel).Func(l.Fields).Msg(message)
	}
	if l.Post != nil {
		l.Post(level, l.Ref, message)
	}
}

// Fields are written into each line: a logger that knows them would take half a
// kilobyte, for each object that has daemons.
func (l Logger) Fields(line *zerolog.Event) {
	if l.Name != "" {
		line.Str(Field, l.Name)
	}
	if l.refKey != "" {
		line.Object(l.refKey, refFields(l.Ref))
	}
}

// Terse is the same for handlers that are called for every event of many objects:
// their successes are only for those who debug.
func (l Logger) Terse() Logger {
	l.Post, l.quiet = nil, true
	return l
}

// Local is the same without events: for messages that are not for the object.
func (l Logger) Local() Logger {
	l.Post = nil
	return l
}

func ZerologLevel(level int) zerolog.Level {
	switch {
	case level <= LevelDebug:
		return zerolog.DebugLevel
	case level <= LevelInfo:
		return zerolog.InfoLevel
	case level <= LevelWarn:
		return zerolog.WarnLevel
	case level <= LevelError:
		return zerolog.ErrorLevel
	}
	return zerolog.FatalLevel
}

// refFields writes the reference to an object as the reference's JSON logs do.
type refFields posting.Ref

// MarshalZerologObject leaves the namespace out where there is none.
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

// Quote writes a name as the reference's messages do.
func Quote(text string) string { return fmt.Sprintf("'%s'", strings.ReplaceAll(text, "'", `\'`)) }

// Scope names the namespace of a stream in the messages of the reference.
func Scope(namespace string) string {
	if namespace == "" {
		return "cluster-wide"
	}
	return "in " + Quote(namespace)
}
