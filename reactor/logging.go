package reactor

import (
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// LoggerField is the field of log lines that names their logger, as in the
// reference: kopf.objects for lines about objects.
const LoggerField = "logger"

// logger logs about one object. The messages are the sentences of the reference,
// since people search for them.
//
// Kopf: kopf._core.actions.loggers (v1.45).
type logger struct {
	zerolog.Logger
}

func (l logger) debug(message string) { l.Logger.Debug().Msg(message) }
func (l logger) info(message string)  { l.Logger.Info().Msg(message) }
func (l logger) warn(message string)  { l.Logger.Warn().Msg(message) }
func (l logger) error(message string) { l.Logger.Error().Msg(message) }

// failure logs an error with the stack that the guest has sent, if any.
func (l logger) failure(message, stack string) {
	if stack = strings.TrimRight(stack, "\n"); stack != "" {
		message += "\n" + stack
	}
	l.error(message)
}

// at logs with a level of the reference: 10 debug to 50 critical.
func (l logger) at(level int, message string) {
	l.Logger.WithLevel(levelOf(level)).Msg(message)
}

func levelOf(level int) zerolog.Level {
	switch {
	case level <= 10:
		return zerolog.DebugLevel
	case level <= 20:
		return zerolog.InfoLevel
	case level <= 30:
		return zerolog.WarnLevel
	case level <= 40:
		return zerolog.ErrorLevel
	}
	return zerolog.FatalLevel
}

// objectRef is the reference to an object in log lines and in events.
type objectRef struct {
	APIVersion, Kind, Name, UID, Namespace string
}

func refOf(body dicts.Object) objectRef {
	return objectRef{
		APIVersion: dicts.LookupString(body, "apiVersion"),
		Kind:       dicts.LookupString(body, "kind"),
		Name:       dicts.LookupString(body, "metadata", "name"),
		UID:        dicts.LookupString(body, "metadata", "uid"),
		Namespace:  dicts.LookupString(body, "metadata", "namespace"),
	}
}

// MarshalZerologObject writes the reference as the reference's JSON logs do.
func (r objectRef) MarshalZerologObject(e *zerolog.Event) {
	e.Str("apiVersion", r.APIVersion).Str("kind", r.Kind).Str("name", r.Name).Str("uid", r.UID)
	if r.Namespace != "" {
		e.Str("namespace", r.Namespace)
	}
}

// objectLogger makes the logger of an object.
func objectLogger(base zerolog.Logger, refKey string, body dicts.Object) logger {
	return logger{base.With().Str(LoggerField, "kopf.objects").Object(refKey, refOf(body)).Logger()}
}

// quote writes a name as the reference's messages do.
func quote(text string) string { return fmt.Sprintf("'%s'", strings.ReplaceAll(text, "'", `\'`)) }
