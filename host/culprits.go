package host

import "github.com/kopf-wasm/kopf/abi"

// maxCulprits bounds the remembered tasks that have destroyed instances. The oldest are
// forgotten first.
const maxCulprits = 10_000

// culprits are the tasks that have destroyed a shared instance. Each of them runs alone in
// its next attempt, and can harm no other task.
type culprits struct {
	known map[string]bool
	order []string // the oldest first
}

// culpritKey identifies a daemon across its attempts: a handler and its object.
func culpritKey(inv *abi.Invocation) string { return inv.UID + "/" + inv.ID }

func (c *culprits) add(key string) {
	if c.known[key] {
		return
	}
	if c.known == nil {
		c.known = map[string]bool{}
	}
	if len(c.order) == maxCulprits {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
	c.known[key] = true
	c.order = append(c.order, key)
}

// blame remembers a task that has destroyed its instance, if other tasks shared the instance.
func (p *pool) blame(in *instance, t *Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.load > 0 {
		p.culprits.add(t.key)
	}
}

// mustBeAlone reports whether a task has destroyed a shared instance before.
func (p *pool) mustBeAlone(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.culprits.known[key]
}
