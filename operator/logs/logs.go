// Package logs writes log lines in the formats of Kopf: plain, full and
// json.
//
// Guests, objects, registries and clients supply parts of the messages. The package escapes
// everything that could forge a record or control a terminal. In text formats, each line of
// a message after the first one begins with legible.Continuation.
//
// See https://docs.kopf.dev/en/latest/cli/ (logging options)
package logs

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/reactor/nowait"
)

// Format is a format of log lines.
type Format string

// The formats.
const (
	Plain Format = "plain" // the message alone
	Full  Format = "full"  // time, logger, level, message
	JSON  Format = "json"  // all fields
)

// Options are the options of a logger.
type Options struct {
	Format Format
	Level  zerolog.Level

	// Prefix puts [namespace/name] before messages about objects. Nil means true in text
	// formats, false in JSON.
	Prefix *bool

	// RefKey is the field that holds the object's reference. The default is "object".
	RefKey string
}

// defaultRefKey is the default of Options.RefKey.
const defaultRefKey = "object"

// New makes a logger that writes to w, one write per line.
func New(w io.Writer, o Options) zerolog.Logger { return zerolog.New(NewWriter(w, o)).Level(o.Level) }

// NewWriter makes the writer of a logger: it formats records for w, one write per line. It
// ignores Options.Level.
func NewWriter(w io.Writer, o Options) zerolog.LevelWriter {
	o.RefKey = cmp.Or(o.RefKey, defaultRefKey)
	prefix := o.Format != JSON
	if o.Prefix != nil {
		prefix = *o.Prefix
	}
	if file, ok := w.(*os.File); ok {
		w = nowait.File(file)
	}
	return &lines{out: zerolog.SyncWriter(w), format: o.Format, prefix: prefix, refKey: o.RefKey}
}

// lines converts the JSON lines of zerolog into the selected format. It takes the time
// itself, so that all formats show it in the form of Kopf.
type lines struct {
	out    io.Writer
	format Format
	prefix bool
	refKey string
	second atomic.Pointer[second]
}

// second is a second as text formats show it: lines of one second are formatted many times while objects are handled.
type second struct {
	unix int64
	text string
}

// appendTime appends a time as text formats show it.
func (l *lines) appendTime(text []byte, now time.Time) []byte {
	s := l.second.Load()
	if unix := now.Unix(); s == nil || s.unix != unix {
		s = &second{unix, now.Format("2006-01-02 15:04:05,")}
		l.second.Store(s)
	}
	ms := now.Nanosecond() / 1e6
	return append(append(text, s.text...), byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
}

// appendPadded appends a word as so many characters.
func appendPadded(text []byte, word string, width int) []byte {
	for i := range word {
		if width == 0 {
			word = word[:i]
			break
		}
		width--
	}
	return append(append(text, word...), "                    "[:width]...)
}

// Write formats a line without a level.
func (l *lines) Write(line []byte) (int, error) { return l.WriteLevel(zerolog.NoLevel, line) }

// WriteLevel formats one line.
func (l *lines) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	var err error
	if l.format == JSON {
		err = l.writeJSON(level, line)
	} else {
		err = l.writeText(level, line)
	}
	return len(line), err
}

// record holds the fields of a line that text formats show.
type record struct {
	message, logger, err string
	operator             string // of a host with several ones
	replica              string // of an operator with several ones
	object               objectRef
}

// objectRef identifies the object that a line is about.
type objectRef struct {
	Namespace, Name string
}

// take takes a member of the reference in a record.
func (r *objectRef) take(key string, value []byte) {
	switch key {
	case "namespace":
		r.Namespace = dicts.Text(value)
	case "name":
		r.Name = dicts.Text(value)
	}
}

// prefix is the text before a message about the object.
func (r objectRef) prefix() string {
	switch {
	case r.Name == "":
		return ""
	case r.Namespace == "":
		return "[" + r.Name + "] "
	}
	return "[" + r.Namespace + "/" + r.Name + "] "
}

func (l *lines) writeText(level zerolog.Level, line []byte) error {
	r, ok := l.recordOf(line)
	if !ok {
		return l.writeRaw(line)
	}
	text := make([]byte, 0, len(line))
	if l.format == Full {
		text = l.appendTime(append(text, '['), time.Now())
		text = appendPadded(append(text, "] "...), legible.Line(cmp.Or(r.logger, "kopf")), 20)
		text = append(appendPadded(append(text, " ["...), names[level], 8), "] "...)
	}
	if r.replica != "" {
		text = append(legible.AppendLine(text, r.replica), ": "...)
	}
	if r.operator != "" {
		text = append(legible.AppendLine(text, r.operator), ": "...)
	}
	if l.prefix {
		text = legible.AppendLine(text, r.object.prefix())
	}
	text = append(text, legible.Lines(legible.Clip(r.message, maxText))...)
	if r.err != "" {
		text = append(append(bytes.TrimSuffix(text, []byte(".")), ": "...), legible.Lines(legible.Clip(r.err, maxText))...)
	}
	_, err := l.out.Write(append(text, '\n'))
	return err
}

// recordOf reads the fields of a record from a line in one pass, because each event and each
// review logs lines. It returns false if the line is not a JSON object.
func (l *lines) recordOf(line []byte) (r record, ok bool) {
	ok = dicts.Scan(line, func(parent, key string, value []byte) {
		var part *string
		switch {
		case parent == "" && key == zerolog.MessageFieldName:
			part = &r.message
		case parent == "" && key == "logger":
			part = &r.logger
		case parent == "" && key == operatorField && r.operator == "": // the first one is that of the host
			part = &r.operator
		case parent == "" && key == replicaField && r.replica == "":
			part = &r.replica
		case parent == "" && key == zerolog.ErrorFieldName:
			part = &r.err
		case parent == l.refKey:
			r.object.take(key, value)
			return
		default:
			return
		}
		*part = dicts.Text(value)
	})
	return r, ok
}

// operatorField is the field with the name of the operator, if a process has several.
const operatorField = "operator"

// replicaField is the field with the name of the replica: see package loggers.
const replicaField = "replica"

// maxText bounds the message of a record, its error, and each of its fields, in bytes.
const maxText = 64 << 10

// writeRaw writes a line that cannot be parsed.
func (l *lines) writeRaw(line []byte) error {
	_, err := l.out.Write(append(legible.AppendLine(nil, bytes.TrimSuffix(line, []byte("\n"))), '\n'))
	return err
}

// names are the levels as the text formats of Kopf show them.
var names = map[zerolog.Level]string{
	zerolog.DebugLevel: "DEBUG", zerolog.InfoLevel: "INFO", zerolog.WarnLevel: "WARNING",
	zerolog.ErrorLevel: "ERROR", zerolog.FatalLevel: "CRITICAL", zerolog.NoLevel: "INFO",
}

// severities are the levels as its JSON format names them.
var severities = map[zerolog.Level]string{
	zerolog.DebugLevel: "debug", zerolog.InfoLevel: "info", zerolog.WarnLevel: "warn",
	zerolog.ErrorLevel: "error", zerolog.FatalLevel: "fatal", zerolog.NoLevel: "info",
}
