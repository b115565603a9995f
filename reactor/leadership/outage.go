package leadership

// Outage is what is known about something that is tried again and again, so that only changes are logged. The zero value is that
// before the first attempt.
type Outage struct{ failing bool }

// Changed takes the result of an attempt, and reports whether it is the first failure, or the first success after failures.
func (o *Outage) Changed(err error) bool {
	before := o.failing
	o.failing = err != nil
	return o.failing != before
}
