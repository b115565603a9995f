package operator

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/spelling"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// Limits bound the rate of one operator's own requests to the Kubernetes API, events
// included. Calls.Rate bounds the requests of its guests.
type Limits = clients.Limits

// Rate bounds the frequency of an action.
type Rate = clients.Rate

// rate is one number of a rate that SetLimit can set by name.
type rate struct {
	name  string
	at    func(*Options) *int
	bytes bool // the number is a size
}

var rates = []rate{
	{name: "RequestRate", at: func(o *Options) *int { return &o.Limits.Requests.PerSecond }},
	{name: "RequestBurst", at: func(o *Options) *int { return &o.Limits.Requests.Burst }},
	{name: "EventRate", at: func(o *Options) *int { return &o.Limits.Events.PerSecond }},
	{name: "EventBurst", at: func(o *Options) *int { return &o.Limits.Events.Burst }},
	{name: "CallRate", at: func(o *Options) *int { return &o.Calls.Rate.PerSecond }},
	{name: "CallBurst", at: func(o *Options) *int { return &o.Calls.Rate.Burst }},
	{name: "EgressRate", at: func(o *Options) *int { return &o.Calls.Egress.PerSecond }, bytes: true},
	{name: "EgressBurst", at: func(o *Options) *int { return &o.Calls.Egress.Burst }, bytes: true},
	{name: "LoopRate", at: func(o *Options) *int { return &o.LoopRate }},
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
// of a rate must be above zero. A number of bytes may be a size ("64Mi").
func (o *Options) SetLimit(name, value string) error {
	i := slices.IndexFunc(rates, func(r rate) bool { return r.name == name })
	switch {
	case i >= 0:
	case slices.Contains(host.LimitNames(), name):
		return o.Host.SetLimit(name, value)
	default:
		return fmt.Errorf("unknown limit %s%s", name, spelling.Meant(name, LimitNames()))
	}
	n, err := rates[i].parse(value)
	if err != nil {
		return fmt.Errorf("limit %s: %w", name, err)
	}
	*rates[i].at(o) = n
	return nil
}

func (r rate) parse(value string) (int, error) {
	if r.bytes {
		return host.ParseSize(value)
	}
	n, err := strconv.Atoi(value)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is not a whole number above zero", value)
	}
	return n, nil
}

// text is a value in a form that parse reads.
func (r rate) text(value int) string {
	if r.bytes {
		return host.SizeText(value)
	}
	return strconv.Itoa(value)
}
