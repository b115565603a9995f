package kopf

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Types of events. Others are possible, where the cluster allows them.
const (
	EventNormal  = "Normal"
	EventWarning = "Warning"
	EventError   = "Error"
)

// Events posts Kubernetes events about an object: the handled one, if no other is
// said. They are posted in the background; what is over the host's limits is
// dropped and counted.
//
// See https://docs.kopf.dev/en/latest/events/
type Events struct {
	task     *guest.Task
	about    abi.Raw
	backoffs abi.Raw
	err      error
}

// About posts about another object instead, which needs apiVersion, kind and metadata.
func (e Events) About(object any) Events {
	e.about, e.err = Encode(object)
	return e
}

// Backoffs are the pauses between the attempts to post, instead of those of the setting
// posting.default_backoffs; none of them is one attempt.
//
// Kopf: kopf.event(backoffs=…) (v1.45).
func (e Events) Backoffs(pauses ...time.Duration) Events {
	list := []byte{'['}
	for i, pause := range pauses {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendFloat(list, pause.Seconds(), 'f', -1, 64)
	}
	e.backoffs = append(list, ']')
	return e
}

// Info posts an event of the type Normal.
func (e Events) Info(reason, message string) error {
	return e.post(LevelInfo, EventNormal, reason, message)
}

// Warn posts an event of the type Warning.
func (e Events) Warn(reason, message string) error {
	return e.post(LevelWarn, EventWarning, reason, message)
}

// Exception posts an error as an event of the type Error: the message, if there
// is one, and the error after it. An empty reason stands for the type of the error.
func (e Events) Exception(err error, reason, message string) error {
	if reason == "" {
		reason = typeName(err)
	}
	switch {
	case err != nil && message != "":
		message += " " + err.Error()
	case err != nil:
		message = err.Error()
	}
	return e.post(LevelError, EventError, reason, message)
}

// Post posts an event of any type, whatever the level of posting is.
//
// Errors of this and the other methods say that it could not be posted: it is too
// large, or the operator has no right to post it.
func (e Events) Post(eventType, reason, message string) error {
	return e.post(0, eventType, reason, message)
}

func (e Events) post(level int, eventType, reason, message string) error {
	if e.err != nil {
		return e.err
	}
	event := abi.Event{Level: level, Type: eventType, Reason: reason, Message: message, Object: e.about, Backoffs: e.backoffs}
	return e.task.Host.Event(e.task.ID, guest.EncodeEvent(event))
}

// typeName is the name of the type of an error, without package and pointer.
func typeName(err error) string {
	if err == nil {
		return "None"
	}
	name := reflect.TypeOf(err).String()
	return name[strings.LastIndexByte(name, '.')+1:]
}
