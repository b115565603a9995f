package backoffs

import "time"

// Doubling are pauses that double with each failure, up to a maximum. It is not safe for
// concurrent use.
type Doubling struct {
	First time.Duration // the first pause, and the shortest one
	Most  time.Duration // the longest pause

	next time.Duration // twice the last pause; 0: there was none since Reset
}

// Next returns the pause after one more failure.
func (d *Doubling) Next() time.Duration {
	pause := min(max(d.next, d.First), d.Most)
	d.next = 2 * pause
	return pause
}

// Reset begins again with the first pause, as after a success.
func (d *Doubling) Reset() { d.next = 0 }
