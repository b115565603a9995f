package operator

import (
	"cmp"
	"fmt"

	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// CheckMaxima compares the limits of these options with those of other options, which are
// the maxima. On both sides, an unset limit has its default.
//
// Errors name the first limit that exceeds its maximum, and both values.
func (o *Options) CheckMaxima(maxima *Options) error {
	if err := o.Host.CheckMaxima(maxima.Host); err != nil {
		return err
	}
	own, highest := o.withRates(), maxima.withRates()
	for _, r := range rates {
		if value, maximum := *r.at(&own), *r.at(&highest); value > maximum {
			return fmt.Errorf("limit %s: %s is above the maximum %s of the host", r.name, r.text(value), r.text(maximum))
		}
	}
	return nil
}

// withRates returns a copy in which unset rates have their defaults.
func (o *Options) withRates() Options {
	filled := *o
	filled.Limits.Requests = o.Limits.Requests.Or(clients.DefaultLimits.Requests)
	filled.Limits.Events = o.Limits.Events.Or(clients.DefaultLimits.Events)
	filled.Calls.Rate = o.Calls.Rate.Or(calls.DefaultRate)
	filled.Calls.Egress = o.Calls.Egress.Or(calls.DefaultEgress)
	filled.LoopRate = cmp.Or(o.LoopRate, DefaultLoopRate)
	return filled
}
