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
)

// maxPause is the longest time until a version that was not taken is tried again.
const maxPause = time.Hour

// Follower keeps up with the tags that modules were opened by: it looks whether they
// stand for something else, fetches that with all checks, and hands it over. Whatever
// fails, what was there before goes on.
type Follower struct {
	Finder *Finder
	Every  time.Duration // between two looks, give or take a tenth

	// Reload takes over what Open gives now. An error means that it goes on with what
	// was there before.
	Reload func(ctx context.Context) error

	Info, Warn func(text string) // told in whole sentences, each of them once

	mu       sync.Mutex // guards all below
	opened   []*followed
	verified map[string]bool // digests: signatures are not asked for again
}

// followed is an artifact that was opened.
type followed struct {
	name string        // as it was opened
	now  oci.Reference // with the digest that Open gives
	told string        // the last problem

	tried string // the digest that was not taken
	pause time.Duration
	next  time.Time // when it is tried again
}

// Open opens a module. An artifact stays what it was found to be, until something else
// was taken over; files are read each time.
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

// Followable tells whether a name is that of a tag, without a digest.
func Followable(name string) bool {
	if !oci.IsReference(name) {
		return false
	}
	r, err := oci.Parse(name)
	return err == nil && r.Digest == ""
}

// remember lets the finder remember what was verified.
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

// unverified is the error of a version whose signatures may still come.
type unverified struct{ error }

func (u unverified) Unwrap() error { return u.error }

// Run looks until the context ends.
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

// look looks at a tag once. Only Run calls it, so all of the tag but what Open reads
// belongs to it.
func (f *Follower) look(ctx context.Context, t *followed) {
	digest, err := f.Finder.Client.Resolve(ctx, t.now.Tagged(t.now.Tag))
	switch {
	case err != nil:
		f.problem(ctx, t, fmt.Sprintf("It cannot be seen whether there is a new version, %s goes on: %v", t.now.Digest, err))
		return
	case digest == t.now.Digest:
		t.told, t.tried = "", ""
		return
	case digest != t.tried:
		t.tried, t.pause, t.next = digest, f.Every, time.Time{}
	case time.Now().Before(t.next):
		return
	}
	next := t.now
	next.Digest = digest
	if err := f.take(ctx, t, next); err != nil {
		f.problem(ctx, t, fmt.Sprintf("A new version is not taken, %s goes on: %v", t.now.Digest, err))
		if !errors.As(err, new(unverified)) && !errors.Is(err, oci.ErrUnavailable) { // these may change soon
			t.pause = min(2*t.pause, max(maxPause, f.Every))
			t.next = time.Now().Add(t.pause)
		}
		return
	}
	t.told, t.tried = "", ""
	f.Info(fmt.Sprintf("Running %s.", next))
}

// take fetches another version, and hands it over.
func (f *Follower) take(ctx context.Context, t *followed, next oci.Reference) error {
	if _, err := f.Finder.Fetch(ctx, next); err != nil {
		return err
	}
	before := f.set(t, next)
	if err := f.Reload(ctx); err != nil {
		f.set(t, before)
		return fmt.Errorf("%s: %w", next, err)
	}
	return nil
}

// set changes what Open gives, and returns what it gave before.
func (f *Follower) set(t *followed, to oci.Reference) (before oci.Reference) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, t.now = t.now, to
	return before
}

// problem tells what is wrong, once.
func (f *Follower) problem(ctx context.Context, t *followed, text string) {
	if text != t.told && ctx.Err() == nil {
		f.Warn(text)
	}
	t.told = text
}
