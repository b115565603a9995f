package kopf

import (
	"encoding/json"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

type sized struct {
	Size int `json:"size"`
}

func sizeOfChange(c *ChangeOf[sized]) (any, error) { return c.Spec.Size, nil }
func sizeOfEvent(e *EventOf[sized]) (any, error)   { return e.Spec.Size, nil }
func sizeOfTimer(t *TimerOf[sized]) (any, error)   { return t.Spec.Size, nil }
func sizeOfDaemon(d *DaemonOf[sized]) (any, error) { return d.Spec.Size, nil }

func checkSize(r *ReviewOf[sized]) error {
	if r.Spec.Size < 0 {
		return Denied("too small")
	}
	return nil
}

// noted is a host that keeps the events which are posted.
type noted struct {
	guest.Noone
	events []string
}

// Event keeps the message.
func (n *noted) Event(_ uint32, event []byte) error {
	n.events = append(n.events, JSON(event).Get("message").String())
	return nil
}

func TestTypedHandlers(t *testing.T) {
	things := Typed[sized]("things")
	tests := []struct {
		name     string
		register func()
		result   string // for a size of 5
		posts    bool   // an event for a size that is not a number
	}{
		{"create", func() { things.OnCreate(sizeOfChange, ID("f")) }, "5", true},
		{"update", func() { things.OnUpdate(sizeOfChange, ID("f")) }, "5", true},
		{"delete", func() { things.OnDelete(sizeOfChange, ID("f")) }, "5", true},
		{"resume", func() { things.OnResume(sizeOfChange, ID("f")) }, "5", true},
		{"field", func() { things.OnField(sizeOfChange, ID("f"), Field("spec")) }, "5", true},
		{"event", func() { things.OnEvent(sizeOfEvent, ID("f")) }, "5", true},
		{"timer", func() { things.OnTimer(sizeOfTimer, ID("f")) }, "5", true},
		{"daemon", func() { things.OnDaemon(sizeOfDaemon, ID("f")) }, "5", true},
		{"validate", func() { things.OnValidate(checkSize, ID("f")) }, "", false},
		{"mutate", func() { things.OnMutate(checkSize, ID("f")) }, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host := &noted{}
			before := guest.Default
			defer func() { guest.Default = before }()
			guest.Default = &guest.Module{Host: host}
			tt.register()
			var registration abi.Registration
			if err := json.Unmarshal(guest.Default.Register([]byte(`{"abi":1}`)), &registration); err != nil {
				t.Fatal(err)
			}
			if registration.Error != "" || string(registration.Handlers[0].Kind) != tt.name || registration.Handlers[0].Resource == nil {
				t.Fatalf("registered %+v", registration)
			}
			good := started(t, `{"spec":{"size":5}}`)
			if good.Outcome.Error != nil || string(good.Outcome.Result) != tt.result || len(host.events) != 0 {
				t.Errorf("ended with %+v, events %v", good.Outcome, host.events)
			}
			const want = "spec.size: want an integer, got a string"
			bad := started(t, `{"spec":{"size":"x"}}`).Outcome.Error
			if bad == nil || bad.Kind != abi.ErrorPermanent || bad.Message != want {
				t.Errorf("a wrong spec ended with %+v", bad)
			}
			if (len(host.events) == 1) != tt.posts || tt.posts && host.events[0] != want {
				t.Errorf("events %v", host.events)
			}
		})
	}
}

// started runs the only handler for an object.
func started(t *testing.T, object string) abi.Step {
	t.Helper()
	frame := abi.AppendFrame(nil, abi.Segment{Tag: abi.TagHeader, Data: []byte(`{"handler":0,"id":"f"}`)},
		abi.Segment{Tag: abi.TagBody, Data: []byte(object)})
	var step abi.Step
	if err := json.Unmarshal(guest.Default.Start(1, frame), &step); err != nil {
		t.Fatal(err)
	}
	return step
}
