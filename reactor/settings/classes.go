package settings

import (
	"bytes"
	"encoding/json"
)

// Class says who may change a setting.
type Class string

// The classes. What is no setting of this package, such as paths and programs, is
// of the host alone.
const (
	Guest Class = "guest" // any guest: harmless values
	Grant Class = "grant" // a guest that is allowed to: it opens ports, or changes where requests go
)

// granted are the settings of the class grant: webhooks see the objects of others.
var granted = map[string]bool{"admission.managed": true, "admission.server": true}

// ClassOf is the class of a setting by its dotted name.
func ClassOf(name string) Class {
	if granted[name] {
		return Grant
	}
	return Guest
}

// SetByGuest is Set for what a guest wants: settings with parts that belong to the
// host remember where they are from.
func (s *Settings) SetByGuest(name string, value json.RawMessage) error {
	if err := s.Set(name, value); err != nil {
		return err
	}
	if name == "admission.server" {
		s.Admission.FromGuest = true
	}
	return nil
}

// managed is the name of webhook configurations, or null.
func managed(s *Settings, value json.RawMessage) error {
	name, err := decode[*string](value, "a string or null")
	if err == nil {
		s.Admission.Managed = ""
		if name != nil {
			s.Admission.Managed = *name
		}
	}
	return err
}

// server is checked by who makes one of it.
func server(s *Settings, value json.RawMessage) error {
	s.Admission.Server, s.Admission.FromGuest = nil, false
	if text := bytes.TrimSpace(value); string(text) != "null" {
		s.Admission.Server = append(json.RawMessage{}, text...)
	}
	return nil
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
