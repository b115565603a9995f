// Package journals keeps the newest log records of an operator in memory, for people who
// look at them later. The size of a journal is bounded, and an empty one takes no memory.
package journals

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Bounds of a journal.
const (
	maxBytes  = 64 << 10
	maxRecord = 4 << 10 // bytes; longer records keep the beginning of their message
	maxErrors = 5
)

// Record is a log record.
type Record struct {
	Number uint64          `json:"-"` // in the journal, from 1 on
	Time   time.Time       `json:"time"`
	Fields json.RawMessage `json:"record"` // as the logger has written them: level, logger, message, …
}

// Journal keeps the newest records, and the newest errors in addition. The zero value is
// empty. It is safe for concurrent use.
//
// # Guarantees
//
//   - Writing does not wait for readers.
//   - A reader that is too slow misses records, and gets their number.
type Journal struct {
	mu      sync.Mutex // guards the fields below
	records []Record
	errors  []Record
	bytes   int
	last    uint64        // number of the newest record
	changed chan struct{} // closed with the next record; nil: no reader waits
}

var _ zerolog.LevelWriter = (*Journal)(nil)

// Write adds a record without a level.
func (j *Journal) Write(line []byte) (int, error) { return j.WriteLevel(zerolog.NoLevel, line) }

// WriteLevel adds a record. It returns no errors.
func (j *Journal) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	fields := bounded(line)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	r := Record{Number: j.last, Time: time.Now(), Fields: fields}
	j.records = append(j.records, r)
	j.bytes += len(fields)
	drop := 0
	for ; j.bytes > maxBytes; drop++ {
		j.bytes -= len(j.records[drop].Fields)
	}
	j.records = slices.Delete(j.records, 0, drop)
	if level >= zerolog.ErrorLevel && level < zerolog.NoLevel {
		j.errors = append(j.errors, r)
		j.errors = slices.Delete(j.errors, 0, max(0, len(j.errors)-maxErrors))
	}
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
	return len(line), nil
}

// bounded copies a record. It keeps only the main fields of a long one.
func bounded(line []byte) json.RawMessage {
	if len(line) <= maxRecord {
		return json.RawMessage(slices.Clone(line))
	}
	parts := map[string]string{}
	dicts.Scan(line, func(parent, key string, value []byte) {
		if parent == "" && slices.Contains([]string{zerolog.LevelFieldName, "logger", zerolog.MessageFieldName, zerolog.ErrorFieldName}, key) {
			parts[key] = legible.Clip(dicts.Text(value), maxRecord/4)
		}
	})
	text, err := json.Marshal(parts)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return text
}

// After returns the records after a number, and how many of them are lost. If there are
// none, changed is closed with the next record.
func (j *Journal) After(number uint64) (records []Record, lost uint64, changed <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at, _ := slices.BinarySearchFunc(j.records, number+1, func(r Record, n uint64) int { return int(r.Number) - int(n) })
	if at < len(j.records) {
		return slices.Clone(j.records[at:]), j.records[at].Number - number - 1, nil
	}
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return nil, 0, j.changed
}

// Errors returns the newest records of errors, the oldest one first.
func (j *Journal) Errors() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.errors)
}

// Text returns what a record says, on one line: its message and its error.
func (r *Record) Text() string {
	var message, failure string
	dicts.Scan(r.Fields, func(parent, key string, value []byte) {
		switch {
		case parent == "" && key == zerolog.MessageFieldName:
			message = dicts.Text(value)
		case parent == "" && key == zerolog.ErrorFieldName:
			failure = dicts.Text(value)
		}
	})
	if failure != "" {
		message = strings.TrimSuffix(message, ".") + ": " + failure
	}
	return legible.Line(message)
}
