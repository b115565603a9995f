package hosting

import "sync"

// dismissals are the operators that no host may run any more, because one of them, the leader, removes their finalizers. Another host
// that still ran one would add these again. The operators are known by the UIDs of their declarations, which are never used again.
type dismissals struct {
	replica Replica // of hosts that share the objects; nil: there are no dismissals

	mu      sync.Mutex      // guards the fields below
	running map[string]int  // operators that may still work on objects
	never   map[string]bool // may not begin any more
	leaving map[Key]string  // the UIDs that this host, as the leader, has dismissed
}

// begin notes that an operator begins. It returns false if it must not.
func (d *dismissals) begin(uid string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.never[uid] {
		return false
	}
	d.running[uid]++
	return true
}

// end notes that nothing is left of the work on objects of an operator that has begun.
func (d *dismissals) end(uid string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running[uid]--; d.running[uid] > 0 {
		return
	}
	delete(d.running, uid)
	if d.never[uid] {
		d.replica.Answer(uid)
	}
}

// isIdle reports whether nothing is left of the work on objects of any operator that has begun.
func (d *dismissals) isIdle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.running) == 0
}

// has reports whether an operator must not begin any more.
func (d *dismissals) has(uid string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.never[uid]
}

// add notes what the leader has dismissed. It returns whether something is new.
func (d *dismissals) add(uids []string) (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, uid := range uids {
		if d.never[uid] {
			continue
		}
		d.never[uid], news = true, true
		if d.running[uid] == 0 {
			d.replica.Answer(uid)
		}
	}
	return news
}

// dismiss dismisses an operator, as the leader. It returns whether all hosts have ended it.
func (d *dismissals) dismiss(key Key, uid string) (done bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leaving[key] = uid
	return d.replica.Dismiss(uid)
}

// forget ends the dismissal of a declaration that is gone: no host that begins can see it.
func (d *dismissals) forget(key Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if uid, ok := d.leaving[key]; ok {
		delete(d.leaving, key)
		d.replica.Forget(uid)
	}
}
