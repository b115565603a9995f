package hostile_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

// wave are attackers that act at the same time.
type wave struct {
	name    string
	attacks []attack
}

// full reports whether all attackers act, and not only the quick ones.
func full() bool { return os.Getenv("KOPF_HOSTILE") == "full" }

// TestHostile: whatever operators and authors of declarations try, the host lives, the neighbour works, and the
// attacker is named.
func TestHostile(t *testing.T) {
	h := newHouse(t)
	n := h.neighbour(t)
	n.handles(t, "idle")
	pid, count := h.cmd.Process.Pid, 0
	for i, w := range chosen() {
		t.Run(w.name, func(t *testing.T) {
			t.Run("attackers", func(t *testing.T) { // ends when all of them have
				t.Run("neighbour", func(t *testing.T) {
					t.Parallel()
					n.handles(t, fmt.Sprintf("wave%d", i))
				})
				for _, at := range w.attacks {
					count++
					t.Run(at.name, func(t *testing.T) {
						t.Parallel()
						at.attacks(t, n)
					})
				}
			})
			h.lives(t, pid)
			if err := n.serving(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Logf("%d attackers", count)
	h.stops(t)
}

// chosen are the waves with the attacks of this run.
func chosen() []wave {
	all := []wave{hostMemory, computing, memory, messages, library, requests, modules, authors, reviews, compiled, shared}
	if full() {
		return all
	}
	short := wave{name: "short"}
	for _, w := range all {
		for _, at := range w.attacks {
			if at.quick {
				short.attacks = append(short.attacks, at)
			}
		}
	}
	return []wave{short}
}

// stops checks that no attacker keeps the host from its end.
func (h *house) stops(t *testing.T) {
	t.Helper()
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.ended:
	case <-time.After(patience):
		t.Fatal("the host does not stop")
	}
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the host ends with the code %d", code)
	}
}
