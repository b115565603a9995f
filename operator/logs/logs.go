// Package logs writes log lines in the formats of the reference: plain, full and
// json.
//
// See https://docs.kopf.dev/en/latest/cli/ (logging options)
package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"
)

// Format is a format of log lines.
type Format string

// The formats.
const (
	Plain Format = "plain" // the message alone
	Full  Format = "full"  // time, logger, level, message
	JSON  Format = "json"  // all fields
)

// Options say how to log.
type Options struct {
	Format Format
	Level  zerolog.Level

	// Prefix puts [namespace/name] before messages about objects. Nil: in text
	// formats only.
	Prefix *bool

	// RefKey is the field of the object's reference: "object" by default.
	RefKey string
}

// New makes a logger that writes to w, one write per line.
func New(w io.Writer, o Options) zerolog.Logger {
	if o.RefKey == "" {
		o.RefKey = "object"
	}
	prefix := o.Format != JSON
	if o.Prefix != nil {
		prefix = *o.Prefix
	}
	writer := zerolog.LevelWriter(&lines{out: zerolog.SyncWriter(w), format: o.Format, prefix: prefix, refKey: o.RefKey})
	return zerolog.New(writer).Level(o.Level)
}

// lines turns the JSON lines of zerolog into the wanted format. Times are taken
// here, so that they have the form of the reference in all formats.
type lines struct {
	out    io.Writer
	format Format
	prefix bool
	refKey string
}

// Write formats a line without a level.
func (l *lines) Write(line []byte) (int, error) { return l.WriteLevel(zerolog.NoLevel, line) }

// WriteLevel formats one line.
func (l *lines) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &fields); err != nil {
		return l.out.Write(line)
	}
	if l.prefix {
		l.addPrefix(fields)
	}
	if l.format == JSON {
		return len(line), l.writeJSON(level, fields)
	}
	return len(line), l.writeText(level, fields)
}

// addPrefix puts the name of the object before the message.
func (l *lines) addPrefix(fields map[string]json.RawMessage) {
	var ref struct{ Namespace, Name string }
	if json.Unmarshal(fields[l.refKey], &ref) != nil || ref.Name == "" {
		return
	}
	prefix := "[" + ref.Name + "] "
	if ref.Namespace != "" {
		prefix = "[" + ref.Namespace + "/" + ref.Name + "] "
	}
	fields[zerolog.MessageFieldName] = quoted(prefix + text(fields[zerolog.MessageFieldName]))
}

func (l *lines) writeText(level zerolog.Level, fields map[string]json.RawMessage) error {
	message := text(fields[zerolog.MessageFieldName])
	if failure, ok := fields[zerolog.ErrorFieldName]; ok {
		message += ": " + text(failure)
	}
	if l.format == Full {
		logger := text(fields["logger"])
		if logger == "" {
			logger = "kopf"
		}
		now := time.Now().Format("2006-01-02 15:04:05,000")
		message = fmt.Sprintf("[%s] %-20.20s [%-8.8s] %s", now, logger, names[level], message)
	}
	_, err := io.WriteString(l.out, message+"\n")
	return err
}

// writeJSON writes the fields of the reference first, then all others.
func (l *lines) writeJSON(level zerolog.Level, fields map[string]json.RawMessage) error {
	var line bytes.Buffer
	fmt.Fprintf(&line, `{"message":%s,"timestamp":%s`,
		orEmpty(fields[zerolog.MessageFieldName]), quoted(time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00")))
	if ref, ok := fields[l.refKey]; ok {
		fmt.Fprintf(&line, `,%s:%s`, quoted(l.refKey), ref)
	}
	fmt.Fprintf(&line, `,"severity":%s`, quoted(severities[level]))
	delete(fields, zerolog.MessageFieldName)
	delete(fields, zerolog.LevelFieldName)
	delete(fields, l.refKey)
	if len(fields) > 0 {
		rest, err := json.Marshal(fields) // sorted
		if err != nil {
			return err
		}
		line.WriteByte(',')
		line.Write(rest[1 : len(rest)-1])
	}
	line.WriteString("}\n")
	_, err := l.out.Write(line.Bytes())
	return err
}

// names are the levels as the reference's text formats show them.
var names = map[zerolog.Level]string{
	zerolog.DebugLevel: "DEBUG", zerolog.InfoLevel: "INFO", zerolog.WarnLevel: "WARNING",
	zerolog.ErrorLevel: "ERROR", zerolog.FatalLevel: "CRITICAL", zerolog.NoLevel: "INFO",
}

// severities are the levels as its JSON format names them.
var severities = map[zerolog.Level]string{
	zerolog.DebugLevel: "debug", zerolog.InfoLevel: "info", zerolog.WarnLevel: "warn",
	zerolog.ErrorLevel: "error", zerolog.FatalLevel: "fatal", zerolog.NoLevel: "info",
}

func orEmpty(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage(`""`)
	}
	return value
}

func text(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return string(value)
	}
	return s
}

func quoted(s string) json.RawMessage {
	out, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return out
}
