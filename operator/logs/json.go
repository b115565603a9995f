package logs

import (
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// field is a field of a record, with its value as JSON.
type field struct {
	key   string
	value []byte
}

// usualFields is the number of fields that most records have at most.
const usualFields = 12

// writeJSON writes the fields of Kopf first, then all others in the order of their keys. Values stay as they are.
func (l *lines) writeJSON(level zerolog.Level, line []byte) error {
	var object objectRef
	message, ref := []byte(`""`), []byte(nil)
	fields := make([]field, 0, usualFields)
	ok := dicts.Scan(line, func(parent, key string, value []byte) {
		switch {
		case parent == l.refKey:
			object.take(key, value)
		case parent != "", key == zerolog.LevelFieldName:
		case key == zerolog.MessageFieldName:
			message = value
		case key == l.refKey:
			ref = value
		default:
			fields = set(fields, field{key, value})
		}
	})
	if !ok {
		return l.writeRaw(line)
	}
	if prefix := object.prefix(); l.prefix && prefix != "" {
		message = dicts.AppendString(nil, prefix+dicts.Text(message))
	}
	out := appendValue(append(make([]byte, 0, 2*len(line)), `{"message":`...), message)
	out = append(time.Now().UTC().AppendFormat(append(out, `,"timestamp":"`...), "2006-01-02T15:04:05.000000+00:00"), '"')
	if ref != nil {
		out = appendField(out, field{l.refKey, ref})
	}
	out = append(append(append(out, `,"severity":"`...), severities[level]...), '"')
	for _, f := range fields {
		out = appendField(out, f)
	}
	_, err := l.out.Write(append(legible.JSON(append(out, '}')), '\n'))
	return err
}

// set puts a field in its place among sorted ones. The last one of a key is valid; of the fields of the host it is the first one,
// as others come from operators.
func set(fields []field, f field) []field {
	i, found := slices.BinarySearchFunc(fields, f.key, func(f field, key string) int { return strings.Compare(f.key, key) })
	switch {
	case !found:
		return slices.Insert(fields, i, f)
	case f.key != operatorField && f.key != replicaField:
		fields[i] = f
	}
	return fields
}

func appendField(out []byte, f field) []byte {
	return appendValue(append(dicts.AppendString(append(out, ','), f.key), ':'), f.value)
}

// appendValue appends a value; long texts are shortened.
func appendValue(out, value []byte) []byte {
	if len(value) > maxText && value[0] == '"' {
		return dicts.AppendString(out, legible.Clip(dicts.Text(value), maxText))
	}
	return append(out, value...)
}
