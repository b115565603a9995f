package membership

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/leadership/leadershiptest"
)

// replica is a member that is started again whenever it was taken for ended, as by its supervisor.
type replica struct {
	member   *Member
	holdings *Holdings
	stop     context.CancelFunc
	ended    chan struct{}
}

func startReplica(t *testing.T, leases Leases, name string) *replica {
	t.Helper()
	terms := leadershiptest.Terms(t)
	ctx, stop := context.WithCancel(t.Context())
	r := &replica{stop: stop, ended: make(chan struct{})}
	create := func(run int) {
		id := fmt.Sprint(name, run)
		r.member = New(Options{Member: id, Identity: id, Leases: leases, Terms: terms, Log: func(string) {}})
		r.holdings = r.member.Group.Join()
	}
	create(0)
	go func() {
		defer close(r.ended)
		for run := 1; r.member.Run(ctx, func() {}) != nil; run++ {
			create(run)
		}
	}()
	return r
}

// divided fails unless each object may be handled by exactly one of the replicas.
func divided(t *testing.T, when string, replicas ...*replica) {
	t.Helper()
	for _, key := range keys(50) {
		var owners []string
		for _, r := range replicas {
			if state, _ := r.holdings.State(key); state == Free {
				owners = append(owners, r.member.Member)
			}
		}
		if len(owners) != 1 {
			t.Fatalf("%s: an object may be handled by %v", when, owners)
		}
	}
}

// TestForgedNotesDoNotLast checks that one write of a stranger to a Lease does not keep the replicas from work for longer
// than the replacement of a replica takes, whatever it says.
func TestForgedNotesDoNotLast(t *testing.T) {
	t.Parallel()
	everybody := []string{"a0", "b0", "c0"}
	for name, forge := range map[string]func(before Assignment) Assignment{
		"the last generation": func(a Assignment) Assignment {
			a.Generation = lastGeneration
			return a
		},
		"the one before the last": func(a Assignment) Assignment {
			a.Generation = lastGeneration - 1
			return a
		},
		"a later one without acknowledgements": func(a Assignment) Assignment {
			return Assignment{Generation: a.Generation + 1000, Members: everybody, Unsettled: everybody}
		},
		"a later one of strangers": func(a Assignment) Assignment {
			return Assignment{Generation: a.Generation + 1000, Members: []string{"x"}, Previous: []string{"x"}}
		},
		"one half of all further": func(a Assignment) Assignment {
			return Assignment{Generation: a.Generation + lastGeneration/2, Members: everybody, Unsettled: everybody}
		},
		"the same one of a stranger": func(a Assignment) Assignment {
			return Assignment{Generation: a.Generation, Members: []string{"x"}, Previous: everybody}
		},
		"an earlier one": func(Assignment) Assignment { return Assignment{Generation: 1, Members: []string{"x"}} },
		"none":           func(Assignment) Assignment { return Assignment{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				leases := newMemory()
				a, b, c := startReplica(t, leases, "a"), startReplica(t, leases, "b"), startReplica(t, leases, "c")
				all := []*replica{a, b, c}
				defer func() {
					for _, r := range all {
						r.stop()
						<-r.ended
					}
				}()
				time.Sleep(5 * time.Minute)
				divided(t, "before", all...)
				leases.forge(func(note string) string {
					before, err := parse(note)
					if err != nil {
						t.Fatal(err)
					}
					return forge(before).String()
				})
				time.Sleep(5 * time.Minute)
				divided(t, "afterwards", all...)
				c.stop()
				<-c.ended
				time.Sleep(5 * time.Minute)
				divided(t, "without one", a, b)
				d := startReplica(t, leases, "d")
				all = append(all, d)
				time.Sleep(5 * time.Minute)
				divided(t, "with another one", a, b, d)
			})
		})
	}
}

// TestForgedAcknowledgementsDoNotLast checks the same for a write to the Lease of a member, when the Lease of the election is gone.
func TestForgedAcknowledgementsDoNotLast(t *testing.T) {
	t.Parallel()
	for _, forged := range []int64{lastGeneration, lastGeneration - 1, lastGeneration - 2, lastGeneration - 3, lastGeneration / 2, -1} {
		t.Run(fmt.Sprint(forged), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				leases := newMemory()
				leases.leases["x"] = leadership.Lease{Version: "0", Note: strconv.FormatInt(forged, 10), Holder: "x"}
				a, b := startReplica(t, leases, "a"), startReplica(t, leases, "b")
				all := []*replica{a, b}
				defer func() {
					for _, r := range all {
						r.stop()
						<-r.ended
					}
				}()
				time.Sleep(5 * time.Minute)
				divided(t, "at first", all...)
				for _, name := range []string{"c", "d"} {
					all = append(all, startReplica(t, leases, name))
					time.Sleep(5 * time.Minute)
					divided(t, "with "+name, all...)
				}
			})
		})
	}
}

// forge changes the note on the Lease of the election.
func (m *memory) forge(change func(note string) string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.leases[electionLease]
	state.Note = change(state.Note)
	m.put(electionLease, state)
}
