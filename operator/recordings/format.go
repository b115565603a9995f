// Package recordings keeps what operators do: all messages between the reactor and the guests
// of an operator, in a file. A replay sends them again to the same guests, or to newer ones,
// without a cluster, and compares what the guests do.
//
// # Format
//
// A file has one JSON document a line: a Header, the messages in their order, and a Footer.
// Without a footer, the file is truncated.
package recordings

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/operator/crossings"
)

// Version is the version of the format.
const Version = 1

// Header is the first line of a file.
type Header struct {
	Recording int               `json:"kopfRecording"` // Version
	Kopf      string            `json:"kopf"`          // the version of the program
	Operator  string            `json:"operator"`      // the registered name; may be empty
	Modules   []Module          `json:"modules"`
	Config    map[string]string `json:"config,omitempty"` // of the modules; placeholders for secrets
}

// Module is a recorded module.
type Module struct {
	Name     string   `json:"name"` // in messages
	Path     string   `json:"path"` // as it was named on the command line
	Digest   string   `json:"digest"`
	Handlers []string `json:"handlers"` // the ids
}

// Footer is the last line of a file.
type Footer struct {
	End      bool     `json:"end"`
	Messages int      `json:"messages"`
	Full     bool     `json:"full,omitempty"`     // later calls were not recorded: the limit was reached
	Redacted []string `json:"redacted,omitempty"` // names of the values that are not in the file
}

// line is one message of a file.
type line struct {
	Call  int             `json:"n"`
	Guest string          `json:"g,omitempty"`
	Kind  string          `json:"k"`
	Data  json.RawMessage `json:"d,omitempty"`
}

// text is data that is text as a rule. It is kept byte by byte.
type text []byte

// MarshalJSON writes a string, null, or an object for bytes that are no text.
func (t text) MarshalJSON() ([]byte, error) {
	switch {
	case t == nil:
		return []byte("null"), nil
	case utf8.Valid(t):
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString(t)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *text) UnmarshalJSON(raw []byte) error {
	var whole *string
	if err := json.Unmarshal(raw, &whole); err == nil {
		if *t = nil; whole != nil {
			*t = append(text{}, *whole...)
		}
		return nil
	}
	var encoded struct{ Base64 string }
	if err := json.Unmarshal(raw, &encoded); err != nil {
		return err
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded.Base64)
	*t = append(text{}, decoded...)
	return err
}

// message is the form of all messages in files. Each kind uses some of the fields.
type message struct {
	Parent     int             `json:"parent,omitempty"`
	Invocation *abi.Invocation `json:"invocation,omitempty"`
	Questions  *abi.Questions  `json:"questions,omitempty"`
	Answers    *abi.Answers    `json:"answers,omitempty"`
	Step       *abi.Step       `json:"step,omitempty"`
	Answer     *abi.Answer     `json:"answer,omitempty"`
	Call       *abi.Call       `json:"call,omitempty"`
	Event      *abi.Event      `json:"event,omitempty"`
	Body       text            `json:"body,omitempty"`
	Level      int             `json:"level,omitempty"` // also tags, bits, scopes and operations
	Key        text            `json:"key,omitempty"`   // also names
	Text       text            `json:"text,omitempty"`
	Value      text            `json:"value,omitempty"`
	Version    int64           `json:"version,omitempty"` // also nanoseconds
	Result     uint64          `json:"result,omitempty"`
	Found      bool            `json:"found,omitempty"`
	Error      *fault          `json:"error,omitempty"`
}

// fault is an error in a file: with its text, and what tools compare it with.
type fault struct {
	Text string `json:"text"`
	Is   string `json:"is,omitempty"` // a name of known
}

// known are the errors that guests can tell apart.
var known = map[string]error{"absent": abi.ErrAbsent, "conflict": abi.ErrConflict, "denied": abi.ErrDenied, "tooLarge": abi.ErrTooLarge, "noRoom": abi.ErrNoRoom}

func faultOf(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Text: err.Error()}
	for name, target := range known {
		if errors.Is(err, target) {
			f.Is = name
		}
	}
	return f
}

// err returns an error with the text, which is the known error.
func (f *fault) err() error {
	switch {
	case f == nil:
		return nil
	case known[f.Is] != nil:
		return fmt.Errorf("%w (%s)", known[f.Is], f.Text)
	}
	return errors.New(f.Text)
}

// Kinds of messages in files.
const (
	kindStart     = "start"
	kindResume    = "resume"
	kindCancel    = "cancel"
	kindRelease   = "release"
	kindTransform = "transform"
	kindAsk       = "ask"

	kindStep        = "step"
	kindAnswers     = "answers"
	kindTransformed = "transformed"
	kindFailure     = "failure"

	kindLog     = "log"
	kindEvent   = "event"
	kindRequest = "request"
	kindMemoSet = "memo set"
	kindMemoGet = "memo get"
	kindSegment = "segment"
	kindStopped = "stopped"
	kindIndex   = "index"
	kindNow     = "now"
	kindRandom  = "random"
	kindSleep   = "sleep"
)

// encode returns the form of a message, and its kind.
func encode(what any) (kind string, m message) {
	switch w := what.(type) {
	case crossings.Start:
		return kindStart, message{Parent: w.Parent, Invocation: w.Invocation, Body: w.Body}
	case crossings.Resume:
		return kindResume, message{Answer: &w.Answer}
	case crossings.Cancel:
		return kindCancel, m
	case crossings.Release:
		return kindRelease, m
	case crossings.Transform:
		return kindTransform, message{Body: w.Body}
	case crossings.Ask:
		return kindAsk, message{Parent: w.Parent, Questions: w.Questions, Body: w.Body}
	case crossings.Step:
		return kindStep, message{Step: w.Step}
	case crossings.Answers:
		return kindAnswers, message{Answers: w.Answers}
	case crossings.Transformed:
		return kindTransformed, message{Body: w.Body}
	case crossings.Failure:
		return kindFailure, message{Error: faultOf(w.Err)}
	}
	return encodeCall(what)
}

// encodeCall is encode for calls of the host by a guest.
func encodeCall(what any) (kind string, m message) {
	switch w := what.(type) {
	case crossings.Log:
		return kindLog, message{Level: w.Level, Text: text(w.Message)}
	case crossings.Event:
		return kindEvent, message{Event: &w.Event, Error: faultOf(w.Err)}
	case crossings.Request:
		return kindRequest, message{Call: w.Call, Answer: &w.Answer}
	case crossings.MemoGet:
		return kindMemoGet, message{Level: w.Scope, Key: text(w.Key), Value: w.Value, Result: w.Version, Found: w.Found}
	case crossings.MemoSet:
		return kindMemoSet, message{Level: w.Scope, Key: text(w.Key), Value: w.Value, Version: w.Version, Result: w.Result, Error: faultOf(w.Err)}
	case crossings.Segment:
		return kindSegment, message{Level: int(w.Tag), Value: w.Value}
	case crossings.Stopped:
		return kindStopped, message{Level: w.Bits}
	case crossings.Index:
		return kindIndex, message{Level: w.Operation, Key: text(w.Name), Text: w.Key, Value: w.Value, Error: faultOf(w.Err)}
	case crossings.Now:
		return kindNow, message{Version: w.Time.UnixNano()}
	case crossings.Random:
		return kindRandom, message{Value: w.Bytes}
	case crossings.Sleep:
		return kindSleep, message{Version: int64(w.Slept), Found: w.Early}
	}
	return "", m
}

// time is the time of a reading of the clock.
func (m *message) time() time.Time { return time.Unix(0, m.Version) }
