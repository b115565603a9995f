package modules

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
)

// maxPause is the longest pause before a refused version is tried again.
const maxPause = time.Hour

// Follower follows the tags of opened modules. When a tag moves, it fetches the new artifact
// with all checks, and reloads the operator. If anything fails, the previous version
// continues.
type Follower struct {
	Finder *Finder
	Every  time.Duration // interval between two checks of a tag, plus or minus a tenth

	// Reload adopts what Open returns now. After an error, the previous version continues.
	Reload func(ctx context.Context) error

	Info, Warn func(text string) // receive whole sentences, each of them once

	mu       sync.Mutex // guards all below
	opened   []*followed
	verified map[string]bool // digests whose signatures were verified
}

// followed is an artifact that was opened.
type followed struct {
	name string        // as it was passed to Open
	now  oci.Reference // with the digest that Open returns
	last string        // the last problem

	added string // name of the running version in the store, if the follower has added it; otherwise empty

	tried string // the digest that was refused
	pause time.Duration
	next  time.Time // when it is tried again
}

// Open opens a module. An artifact keeps its digest until a new version was adopted. Files
// are read each time.
func (f *Follower) Open(ctx context.Context, name string) (*Found, error) {
	f.remember()
	f.mu.Lock()
	i := slices.IndexFunc(f.opened, func(t *followed) bool { return t.name == name })
	var known oci.Reference
	if i >= 0 {
		known = f.opened[i].now
	}
	f.mu.Unlock()
	if i >= 0 {
		return f.Finder.Fetch(ctx, known)
	}
	found, err := f.Finder.Open(ctx, name)
	if err != nil || found.Manifest == nil {
		return found, err
	}
	f.mu.Lock()
	f.opened = append(f.opened, &followed{name: name, now: found.Manifest.Reference})
	f.mu.Unlock()
	f.Info(fmt.Sprintf("Running %s.", found.Name))
	return found, nil
}

// Followable reports whether a name is that of a tag, without a digest.
func Followable(name string) bool {
	if !oci.IsReference(name) {
		return false
	}
	r, err := oci.Parse(name)
	return err == nil && r.Digest == ""
}

// remember makes the finder remember which digests it has verified.
func (f *Follower) remember() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.verified != nil {
		return
	}
	f.verified = map[string]bool{}
	verify := f.Finder.Verify
	if verify == nil {
		return
	}
	f.Finder.Verify = func(ctx context.Context, r oci.Reference) error {
		f.mu.Lock()
		known := f.verified[r.Digest]
		f.mu.Unlock()
		if known {
			return nil
		}
		if err := verify(ctx, r); err != nil {
			return unverified{err}
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.verified[r.Digest] = true
		return nil
	}
}

// unverified is the error of a version whose signatures may still arrive.
type unverified struct{ error }

func (u unverified) Unwrap() error { return u.error }

// Run checks the tags until the context ends.
func (f *Follower) Run(ctx context.Context) {
	for {
		jitter := f.Every/10 - rand.N(f.Every/5+1)
		select {
		case <-time.After(f.Every + jitter):
		case <-ctx.Done():
			return
		}
		f.mu.Lock()
		opened := slices.Clone(f.opened)
		f.mu.Unlock()
		for _, t := range opened {
			if Followable(t.name) {
				f.look(ctx, t)
			}
		}
	}
}

// look checks a tag once. Only Run calls it. It therefore owns all fields of the tag, except
// for what Open reads.
func (f *Follower) look(ctx context.Context, t *followed) {
	digest, err := f.Finder.Client.Resolve(ctx, t.now.Tagged(t.now.Tag))
	switch {
	case err != nil:
		f.problem(ctx, t, fmt.Sprintf("Checking for a new version failed, and %s continues: %v", t.now.Digest, err))
		return
	case digest == t.now.Digest:
		t.last, t.tried = "", ""
		return
	case digest != t.tried:
		t.tried, t.pause, t.next = digest, f.Every, time.Time{}
	case time.Now().Before(t.next):
		return
	}
	next := t.now
	next.Digest = digest
	if err := f.take(ctx, t, next); err != nil {
		f.problem(ctx, t, fmt.Sprintf("A new version was refused, and %s continues: %v", t.now.Digest, err))
		if !errors.As(err, new(unverified)) && !errors.Is(err, oci.ErrUnavailable) { // all other errors are permanent for this digest
			t.pause = min(2*t.pause, max(maxPause, f.Every))
			t.next = time.Now().Add(t.pause)
		}
		return
	}
	t.last, t.tried = "", ""
	f.Info(fmt.Sprintf("Running %s.", next))
}

// take fetches another version, and adopts it. The store then forgets the version before it, or
// the one that was refused: the registry chooses how many there are.
func (f *Follower) take(ctx context.Context, t *followed, next oci.Reference) error {
	added := f.unknown(next)
	if _, err := f.Finder.Fetch(ctx, next); err != nil {
		f.forget(added)
		return err
	}
	before := f.set(t, next)
	if err := f.Reload(ctx); err != nil {
		f.set(t, before)
		f.forget(added)
		return fmt.Errorf("%s: %w", next, err)
	}
	f.forget(t.added)
	t.added = added
	return nil
}

// unknown returns the name of a version that the store does not have; otherwise an empty text: it
// was pulled for other uses.
func (f *Follower) unknown(r oci.Reference) string {
	if f.Finder.Store == nil {
		return ""
	}
	if _, err := f.Finder.Store.Find(r.Name()); err == nil {
		return ""
	}
	return r.Name()
}

// forget removes a version that the follower has added to the store, and what is left of it.
func (f *Follower) forget(name string) {
	if name == "" {
		return
	}
	_, err := f.Finder.Store.Remove(name)
	if errors.Is(err, store.ErrAbsent) { // it was fetched in part
		err = f.Finder.Store.Sweep()
	}
	if err != nil {
		f.Warn(fmt.Sprintf("The store keeps %s: %v", name, err))
	}
}

// set changes what Open returns, and returns the previous reference.
func (f *Follower) set(t *followed, to oci.Reference) (before oci.Reference) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, t.now = t.now, to
	return before
}

// problem reports a problem once.
func (f *Follower) problem(ctx context.Context, t *followed, text string) {
	if text != t.last && ctx.Err() == nil {
		f.Warn(text)
	}
	t.last = text
}
