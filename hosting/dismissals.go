package hosting

import (
	"slices"
	"sync"
)

// maxDismissed is how many operators of one namespace are dismissed at the same time: the hosts dismiss a bounded number, and their
// finalizers may take minutes. Further ones of the namespace wait.
const maxDismissed = 64

// dismissals are the operators that no host may run any more, because one of them, the leader, removes their finalizers. Another host
// that still ran one would add these again. The operators are known by the UIDs of their declarations, which are never used again.
type dismissals struct {
	replica Replica // of hosts that share the objects; nil: there are no dismissals

	mu      sync.Mutex      // guards the fields below
	running map[string]int  // operators that may still work on objects
	never   map[string]bool // may not begin any more; whether this host has seen that the declaration is gone
	leaving map[Key]string  // the UIDs that this host, as the leader, has dismissed
}

// begin notes that an operator begins. It returns false if it must not.
func (d *dismissals) begin(uid string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, dismissed := d.never[uid]; dismissed {
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
	if _, dismissed := d.never[uid]; dismissed {
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
	_, dismissed := d.never[uid]
	return dismissed
}

// add takes all that the leader has dismissed, and forgets what is gone. It returns whether something is new. An answer is repeated,
// because a new leader asks again.
func (d *dismissals) add(uids []string) (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, uid := range uids {
		if _, known := d.never[uid]; !known {
			d.never[uid], news = false, true
		}
		if d.running[uid] == 0 {
			d.replica.Answer(uid)
		}
	}
	for uid, gone := range d.never {
		if gone && d.running[uid] == 0 && !slices.Contains(uids, uid) {
			delete(d.never, uid)
		}
	}
	return news
}

// gone notes that the declaration with a UID is gone, so that this host will not see it again.
func (d *dismissals) gone(uid string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, dismissed := d.never[uid]; dismissed {
		d.never[uid] = true
	}
}

// dismiss dismisses an operator, as the leader. It returns whether all hosts have ended it.
func (d *dismissals) dismiss(key Key, uid string) (done bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, asked := d.leaving[key]; !asked && d.dismissed(key.Namespace) >= maxDismissed {
		return false
	}
	d.leaving[key] = uid
	return d.replica.Dismiss(uid)
}

// dismissed counts the present dismissals of a namespace. The caller holds the lock.
func (d *dismissals) dismissed(namespace string) (count int) {
	for key := range d.leaving {
		if key.Namespace == namespace {
			count++
		}
	}
	return count
}

// forget ends the dismissal of a declaration that is gone: no host that begins can see it.
func (d *dismissals) forget(key Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if uid, ok := d.leaving[key]; ok {
		delete(d.leaving, key)
		d.replica.Forget(uid)
		if _, dismissed := d.never[uid]; dismissed {
			d.never[uid] = true
		}
	}
}
