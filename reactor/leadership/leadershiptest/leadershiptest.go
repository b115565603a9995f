// Package leadershiptest simulates replicas whose processes stand still, whose clocks differ in speed, and whose requests
// are late or lost, for tests in virtual time.
package leadershiptest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor/leadership"
)

// Errors of requests.
var (
	ErrCut  = errors.New("no connection")                  // the server has not got the request
	errLost = fmt.Errorf("%w: the answer is lost", ErrCut) // the server has obeyed
)

// Seeds returns the seeds of the worlds that a test simulates: from the first to before the second one. $SEEDS says how many, or
// which ones ("7345-7346" is one world), or else there is a default number.
func Seeds(t *testing.T, usual int) (from, to uint64) {
	t.Helper()
	first, last, isRange := strings.Cut(cmp.Or(os.Getenv("SEEDS"), strconv.Itoa(usual)), "-")
	if !isRange {
		first, last = "0", first
	}
	from, wrong := strconv.ParseUint(first, 10, 64)
	to, err := strconv.ParseUint(last, 10, 64)
	if err = errors.Join(wrong, err); err != nil || from >= to {
		t.Fatalf("invalid SEEDS=%s: must be a number or FROM-TO: %v", os.Getenv("SEEDS"), err)
	}
	return from, to
}

// Dice are the random decisions of a world. They are safe for concurrent use.
type Dice struct {
	mu   sync.Mutex // guards rand
	rand *rand.Rand
}

// NewDice makes the dice of a world, which repeat themselves for the same seed.
func NewDice(seed uint64) *Dice {
	return &Dice{rand: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // to be repeated
}

// Chance is true with a probability.
func (d *Dice) Chance(p float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.Float64() < p
}

// Between returns a time that is at least the first one, and less than the second one.
func (d *Dice) Between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.Below(int(most-least)))
}

// Below returns a number from 0 on, and less than the given one.
func (d *Dice) Below(most int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.IntN(most)
}

// Faults are the probabilities of what happens to a request.
type Faults struct {
	Late float64 // it takes many seconds
	Lost float64 // the server does not get it; and again, the process does not get the answer
}

// Machine is where a process runs.
type Machine struct {
	Name string

	dice   *Dice
	faults Faults
	healed atomic.Bool   // requests have no faults any more
	stand  chan struct{} // full while the process stands still
}

// NewMachine makes a machine in the world of the dice.
func NewMachine(name string, dice *Dice, faults Faults) *Machine {
	return &Machine{Name: name, dice: dice, faults: faults, stand: make(chan struct{}, 1)}
}

// Terms returns the default terms.
func Terms(t *testing.T) leadership.Terms {
	t.Helper()
	terms, err := leadership.TermsOf(leadership.DefaultDuration)
	if err != nil {
		t.Fatal(err)
	}
	return terms
}

// Heal ends the faults of later requests.
func (m *Machine) Heal() { m.healed.Store(true) }

// Terms returns the default terms on the clock of this machine. Its speed differs from real time by up to 5 percent: a
// slow clock waits longer.
func (m *Machine) Terms(t *testing.T) leadership.Terms {
	t.Helper()
	terms := Terms(t)
	speed := time.Duration(95 + m.dice.Below(10)) // percent
	for _, d := range []*time.Duration{&terms.Duration, &terms.Renewal, &terms.Retry, &terms.Look} {
		*d = *d * speed / 100
	}
	return terms
}

// StandStill stops the process for some time. Its clock continues.
func (m *Machine) StandStill(span time.Duration) {
	m.stand <- struct{}{}
	time.Sleep(span)
	<-m.stand
}

// Run waits while the process stands still.
func (m *Machine) Run() {
	m.stand <- struct{}{}
	<-m.stand
}

// Send runs a request at the server at some time, even if the process does not wait for the answer any more.
func Send[T any](ctx context.Context, m *Machine, request func() (T, error)) (answer T, err error) {
	m.Run()
	faults := m.faults
	if m.healed.Load() {
		faults = Faults{}
	}
	type result struct {
		answer T
		err    error
	}
	done := make(chan result, 1)
	go func() { // It ends after half a minute.
		delay := m.dice.Between(time.Millisecond, 50*time.Millisecond)
		if m.dice.Chance(faults.Late) {
			delay = m.dice.Between(time.Second, 20*time.Second)
		}
		time.Sleep(delay)
		if m.dice.Chance(faults.Lost) {
			done <- result{err: ErrCut}
			return
		}
		answer, err := request()
		if m.dice.Chance(faults.Lost) {
			err = errLost
		}
		time.Sleep(delay / 2)
		done <- result{answer, err}
	}()
	defer m.Run()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

// Slow is a store, as a process on a machine reaches it.
type Slow struct {
	Machine *Machine
	Store   leadership.Store
}

// Read implements leadership.Store.
func (s Slow) Read(ctx context.Context) (leadership.Lease, error) {
	return Send(ctx, s.Machine, func() (leadership.Lease, error) { return s.Store.Read(ctx) })
}

// Write implements leadership.Store.
func (s Slow) Write(ctx context.Context, lease leadership.Lease) (leadership.Lease, error) {
	return Send(ctx, s.Machine, func() (leadership.Lease, error) { return s.Store.Write(ctx, lease) })
}
