package host

import (
	"fmt"
	"strconv"
)

// CheckMaxima compares the limits that SetLimit can set with those of other options, which
// are the maxima. On both sides, a limit of 0 means its default.
//
// Errors name the first limit that exceeds its maximum, and both values.
func (o Options) CheckMaxima(maxima Options) error {
	own, highest := o.withDefaults(), maxima.withDefaults()
	own.MaxMemory = max(own.MaxMemory, o.MaxMemory) // the value that was set, which may be above what an instance can have
	own.Held, highest.Held = own.Held.WithDefaults(), highest.Held.WithDefaults()
	for _, l := range limits {
		value, maximum := l.text(&own), l.text(&highest)
		if l.number(&own) > l.number(&highest) {
			return fmt.Errorf("limit %s: %s is above the maximum %s of the host", l.name, value, maximum)
		}
	}
	return nil
}

// number is the value of the limit.
func (l limit) number(o *Options) int64 {
	switch {
	case l.duration != nil:
		return int64(*l.duration(o))
	case l.size != nil:
		return int64(*l.size(o))
	}
	return int64(*l.count(o))
}

// text is the value of the limit, in a form that SetLimit reads.
func (l limit) text(o *Options) string {
	switch {
	case l.duration != nil:
		return l.duration(o).String()
	case l.size != nil:
		return SizeText(*l.size(o))
	}
	return strconv.Itoa(*l.count(o))
}
