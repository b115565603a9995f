package membership

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kopf-wasm/kopf/reactor/leadership"
)

// maxDismissed is how many subjects are dismissed at the same time: they are a part of the note, which all members read. With UIDs,
// they take 40 KB of the 256 KiB that Kubernetes has for annotations. Further ones wait.
const maxDismissed = 1024

// Dismissals are what the members end for ever, because the coordinator asks for it. A subject is a text without spaces, such as a
// UID. A member reads the subjects with the assignment, and answers on its own Lease.
type Dismissals struct {
	seen func(subjects []string)
	news chan struct{} // makes the member write its Lease

	mu      sync.Mutex // guards the fields below; no other lock is taken under it
	leads   bool
	present []string        // as noted last
	asked   map[string]bool // by the coordinator: whether all members have ended the subject
	ended   map[string]bool // by this member, of those that are present
}

// NewDismissals makes the Dismissals of one member. Seen gets all present subjects whenever they were read, before the member adopts
// the assignment that was read with them. It must not block. It answers again what it has answered before: a subject that is not present any more
// is forgotten, and a new coordinator may ask again.
func NewDismissals(seen func(subjects []string)) *Dismissals {
	return &Dismissals{seen: seen, asked: map[string]bool{}, ended: map[string]bool{}}
}

// Dismiss asks all members to end a subject for ever, and returns whether all of them have. Only the coordinator can; it asks until
// Forget.
//
// A member that joins before Forget learns of the subject before it may have any object. One that joins later must learn of it in
// another way.
func (d *Dismissals) Dismiss(subject string) (done bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, asked := d.asked[subject]; !asked {
		if !d.leads || len(d.asked) >= maxDismissed {
			return false
		}
		d.asked[subject] = false
	}
	return d.asked[subject]
}

// Forget ends a dismissal.
func (d *Dismissals) Forget(subject string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.asked, subject)
}

// Answer notes that this member has ended a subject, and never begins with it again.
func (d *Dismissals) Answer(subject string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended[subject] {
		d.ended[subject] = true
		wake(d.news)
	}
}

// coordinate lets this member ask.
func (d *Dismissals) coordinate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leads = true
}

// noted takes the subjects that were read with an assignment.
func (d *Dismissals) noted(subjects []string) {
	d.mu.Lock()
	d.present = subjects
	maps.DeleteFunc(d.ended, func(subject string, _ bool) bool { return !slices.Contains(subjects, subject) })
	d.mu.Unlock()
	d.seen(subjects)
}

// answers are the present subjects that this member has ended.
func (d *Dismissals) answers() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.present), func(subject string) bool { return !d.ended[subject] })
}

// judge finds out which subjects all members of a stored assignment have ended, and returns all that are asked for. A later
// assignment has them, too.
func (d *Dismissals) judge(stored Assignment, sights *leadership.Sights) (asked []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, subject := range stored.Dismissed {
		if done, asked := d.asked[subject]; !asked || done || stored.Generation == 0 {
			continue
		}
		d.asked[subject] = !slices.ContainsFunc(stored.Members, func(member string) bool {
			return !sights.Ended(member) && !answered(sights.Lease(member), subject)
		})
	}
	return slices.Sorted(maps.Keys(d.asked))
}

// answered reports whether the Lease of a member has an answer. The first word of its note is the acknowledged generation.
func answered(lease leadership.Lease, subject string) bool {
	words := strings.Fields(lease.Note)
	return len(words) > 0 && slices.Contains(words[1:], subject)
}
