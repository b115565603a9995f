package kopf

import (
	"reflect"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// Levels of log messages: those of Python, as in the host's settings.
const (
	LevelDebug    = abi.LevelDebug
	LevelInfo     = abi.LevelInfo
	LevelWarn     = abi.LevelWarning
	LevelError    = abi.LevelError
	LevelCritical = abi.LevelCritical
)

// Logger writes to the log of the handled object. As in log/slog, the message is
// a constant, and what varies follows in pairs of keys and values:
//
//	c.Log.Info("resized", "size", size, "zone", c.Spec.Get("zone"))
//
// is logged as: resized size=5 zone=eu-1. There is no Infof, since package fmt
// would be a fifth of a small module; where you have it anyway, use fmt.Sprintf.
type Logger struct{ task *guest.Task }

// Debug logs a message for debugging.
func (l Logger) Debug(message string, pairs ...any) { l.Log(LevelDebug, message, pairs...) }

// Info logs a message.
func (l Logger) Info(message string, pairs ...any) { l.Log(LevelInfo, message, pairs...) }

// Warn logs a warning.
func (l Logger) Warn(message string, pairs ...any) { l.Log(LevelWarn, message, pairs...) }

// Error logs an error.
func (l Logger) Error(message string, pairs ...any) { l.Log(LevelError, message, pairs...) }

// Critical logs an error that needs attention.
func (l Logger) Critical(message string, pairs ...any) { l.Log(LevelCritical, message, pairs...) }

// Log logs a message of any level.
func (l Logger) Log(level int, message string, pairs ...any) {
	line := []byte(message)
	for i := 0; i+1 < len(pairs); i += 2 {
		key, _ := pairs[i].(string)
		line = append(append(append(line, ' '), key...), '=')
		line = appendLogged(line, pairs[i+1])
	}
	if len(pairs)%2 == 1 { // a value without a key is shown rather than lost
		line = appendLogged(append(line, ' '), pairs[len(pairs)-1])
	}
	l.task.Host.Log(l.task.ID, level, string(line))
}

// appendLogged writes a value: texts as they are if they are one word.
func appendLogged(line []byte, value any) []byte {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer && v.IsNil() {
		return append(line, "null"...) // its methods may panic
	}
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case error:
		text = value.Error()
	case interface{ String() string }:
		text = value.String()
	default:
		encoded, err := jsonlite.Append(line, value)
		if err != nil {
			return append(line, '?')
		}
		return encoded
	}
	if !isWord(text) {
		return jsonlite.AppendString(line, text)
	}
	return append(line, text...)
}

// isWord tells whether a text shows where it begins and ends.
func isWord(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '\r', '\n', '"', '=':
			return false
		}
	}
	return text != ""
}
