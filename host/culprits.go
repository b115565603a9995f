package host

import (
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

const (
	// maxCulprits bounds the remembered tasks that have destroyed instances. The oldest are forgotten first.
	maxCulprits = 10_000
	// maxCulpritsOfHandler are the remembered culprits of one handler after which all its tasks run alone. If each of
	// a thousand daemons fails, each failure would otherwise start all those again that have not failed yet.
	maxCulpritsOfHandler = 8
)

// culprit identifies a daemon across its attempts.
type culprit struct{ handler, uid string }

// culprits are the tasks that have destroyed a shared instance. Each of them runs alone in
// its next attempt, and can harm no other task.
type culprits struct {
	known map[culprit]bool
	order []culprit      // the oldest first
	of    map[string]int // their number by the handler
}

func (c *culprits) add(k culprit) {
	if c.known[k] {
		return
	}
	if c.known == nil {
		c.known, c.of = map[culprit]bool{}, map[string]int{}
	}
	if len(c.order) == maxCulprits {
		oldest := c.order[0]
		delete(c.known, oldest)
		if c.of[oldest.handler]--; c.of[oldest.handler] == 0 {
			delete(c.of, oldest.handler)
		}
		c.order = c.order[1:]
	}
	c.known[k] = true
	c.of[k.handler]++
	c.order = append(c.order, k)
}

// blame remembers a task that has destroyed its instance, if other tasks shared the instance.
func (p *pool) blame(in *instance, t *Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.load > 0 {
		p.culprits.add(t.culprit)
	}
}

// mustBeAlone reports whether a daemon has destroyed a shared instance before, or several daemons of its handler have.
func (p *pool) mustBeAlone(inv *abi.Invocation) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.culprits.known[culpritOf(inv)] || p.culprits.of[inv.ID] >= maxCulpritsOfHandler
}

func culpritOf(inv *abi.Invocation) culprit { return culprit{inv.ID, inv.UID} }

// alone returns a copy for a task to keep. The UID may be a part of the text of its object, which would stay in memory as long as the
// daemon, and is counted nowhere.
func (k culprit) alone() culprit { return culprit{k.handler, strings.Clone(k.uid)} }
