package reactor

import (
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/posting"
)

// LoggerField is the field of log lines that names their logger, as in the
// reference: kopf.objects for lines about objects.
const LoggerField = "logger"

// logger logs about one object. The messages are the sentences of the reference,
// since people search for them.
//
// Kopf: kopf._core.actions.loggers (v1.45).
type logger struct {
	*zerolog.Logger
	name   string                                           // of the logger; none if empty
	refKey string                                           // the field of the reference to the object; none if empty
	ref    posting.Ref                                      // to the object
	post   func(level int, ref posting.Ref, message string) // as an event; nil: never

	quiet bool // what is below warnings is one level lower
}

// Levels of the reference.
const (
	levelDebug = 10
	levelInfo  = 20
	levelWarn  = 30
	levelError = 40
)

func (l logger) debug(message string) { l.at(levelDebug, message) }
func (l logger) info(message string)  { l.at(levelInfo, message) }
func (l logger) warn(message string)  { l.at(levelWarn, message) }
func (l logger) error(message string) { l.at(levelError, message) }

// failure logs an error with the stack that the guest has sent, if any.
func (l logger) failure(message, stack string) {
	if stack = strings.TrimRight(stack, "\n"); stack != "" {
		message += "\n" + stack
	}
	l.error(message)
}

// at logs with a level of the reference: 10 debug to 50 critical.
func (l logger) at(level int, message string) {
	zlevel := levelOf(level)
	if l.quiet && level < levelWarn {
		zlevel-- // debug becomes trace, which is never shown
	}
	if l.GetLevel() <= zlevel {
		l.WithLevel(zlevel).Func(l.fields).Msg(message)
	}
	if l.post != nil {
		l.post(level, l.ref, message)
	}
}

// fields are written into each line: a logger that knows them would take half a
// kilobyte, for each object that has daemons.
func (l logger) fields(line *zerolog.Event) {
	if l.name != "" {
		line.Str(LoggerField, l.name)
	}
	if l.refKey != "" {
		line.Object(l.refKey, refFields(l.ref))
	}
}

// terse is the same for handlers that are called for every event of many objects:
// their successes are only for those who debug.
func (l logger) terse() logger {
	l.post, l.quiet = nil, true
	return l
}

// local is the same without events: for messages that are not for the object.
func (l logger) local() logger {
	l.post = nil
	return l
}

func levelOf(level int) zerolog.Level {
	switch {
	case level <= levelDebug:
		return zerolog.DebugLevel
	case level <= levelInfo:
		return zerolog.InfoLevel
	case level <= levelWarn:
		return zerolog.WarnLevel
	case level <= levelError:
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

// objectLogger makes the logger of an object.
func objectLogger(base *zerolog.Logger, refKey string, body dicts.Object) logger {
	return logger{Logger: base, name: "kopf.objects", refKey: refKey, ref: posting.RefOf(body)}
}

// quote writes a name as the reference's messages do.
func quote(text string) string { return fmt.Sprintf("'%s'", strings.ReplaceAll(text, "'", `\'`)) }

// scopeOf names the namespace of a stream in the messages of the reference.
func scopeOf(namespace string) string {
	if namespace == "" {
		return "cluster-wide"
	}
	return "in " + quote(namespace)
}
