package operator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// Limits bound the rate of one operator's own requests to the Kubernetes API, events
// included. Calls.Rate bounds the requests of its guests.
type Limits = clients.Limits

// Rate bounds the frequency of an action.
type Rate = clients.Rate

// rate is one number of a rate that SetLimit can set by name.
type rate struct {
	name string
	at   func(*Options) *int
}

var rates = []rate{
	{"RequestRate", func(o *Options) *int { return &o.Limits.Requests.PerSecond }},
	{"RequestBurst", func(o *Options) *int { return &o.Limits.Requests.Burst }},
	{"EventRate", func(o *Options) *int { return &o.Limits.Events.PerSecond }},
	{"EventBurst", func(o *Options) *int { return &o.Limits.Events.Burst }},
	{"CallRate", func(o *Options) *int { return &o.Calls.Rate.PerSecond }},
	{"CallBurst", func(o *Options) *int { return &o.Calls.Rate.Burst }},
	{"LoopRate", func(o *Options) *int { return &o.LoopRate }},
}

// LimitNames returns the names that SetLimit accepts: fields of host.Options, and numbers of
// rates.
func LimitNames() []string {
	names := host.LimitNames()
	for _, r := range rates {
		names = append(names, r.name)
	}
	return names
}

// SetLimit sets a limit by name. A field of host.Options is set as by its SetLimit. A number
// of a rate must be above zero.
func (o *Options) SetLimit(name, value string) error {
	i := slices.IndexFunc(rates, func(r rate) bool { return r.name == name })
	switch {
	case i >= 0:
	case slices.Contains(host.LimitNames(), name):
		return o.Host.SetLimit(name, value)
	default:
		return fmt.Errorf("unknown limit %s: must be one of %s", name, strings.Join(LimitNames(), ", "))
	}
	n, err := strconv.Atoi(value)
	if err != nil || n <= 0 {
		return fmt.Errorf("limit %s: %q is not a number above zero", name, value)
	}
	*rates[i].at(o) = n
	return nil
}
