package operator

import (
	"context"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/peering"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// Peering holds the peering options of the command line. An unset field keeps the value of
// the settings.
type Peering struct {
	Name       string // of the peering objects, which must exist then; empty: as set
	Standalone *bool  // do not look for others; nil: as set
	Priority   *int   // nil: as set
}

// applied returns a copy of the settings, or of the defaults, with the peering options
// applied.
func (p Peering) applied(s *settings.Settings) *settings.Settings {
	if s == nil {
		s = settings.Default()
	}
	s = s.Clone()
	if p.Name != "" {
		s.Peering.Name, s.Peering.Mandatory = p.Name, true
	}
	if p.Standalone != nil {
		s.Peering.Standalone = *p.Standalone
	}
	if p.Priority != nil {
		s.Peering.Priority = *p.Priority
	}
	return s
}

// Announcement is a record in peering objects that makes operators pause.
type Announcement = peering.Announcement

// Announce writes an announcement once. An announcement without a lifetime is withdrawn.
// Empty logins mean the logins of Run.
//
// See https://docs.kopf.dev/en/latest/peering/
func Announce(ctx context.Context, a Announcement) error {
	if len(a.Logins) == 0 {
		a.Logins = Logins(nil)
	}
	a.UserAgent = clients.UserAgent(version(), "")
	return peering.Announce(ctx, a)
}
