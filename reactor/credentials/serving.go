package credentials

import (
	"context"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// serving are the logins of a vault, one after the other. Vault.mu guards the fields, except that
// the running login alone uses last and again.
type serving struct {
	begin   func()    // begins a login; nil: none can run
	wanted  bool      // a caller has waited before a login could run
	running bool      // from the request of a login until its credentials are there
	last    time.Time // when the last login began
	again   bool      // whether there was a login before
}

// Serve logs in whenever no credentials are left, until the context ends or stop is called.
// If no login provides others, it calls failed with the error, and the vault stays empty.
// The caller must call stop, which waits for a running login.
func (v *Vault) Serve(ctx context.Context, failed func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup // Waited for by stop.
	v.mu.Lock()
	defer v.mu.Unlock()
	v.logins.begin = func() {
		all.Go(func() {
			if err := v.logIn(ctx); err != nil {
				failed(err)
			}
		})
	}
	if v.logins.wanted {
		v.want()
	}
	return func() {
		v.mu.Lock()
		v.logins.begin = nil
		v.mu.Unlock()
		cancel()
		all.Wait()
	}
}

// Run is Serve that blocks: it returns when the context ends, or the error for failed.
func (v *Vault) Run(ctx context.Context) error {
	failures := make(chan error, 1)
	stop := v.Serve(ctx, func(err error) { failures <- err })
	defer stop()
	select {
	case err := <-failures:
		return err
	case <-ctx.Done():
		return nil
	}
}

// want begins a login, unless one is running. The caller holds the lock.
func (v *Vault) want() {
	l := &v.logins
	switch {
	case l.running:
	case l.begin == nil:
		l.wanted = true
	default:
		l.running = true
		l.begin()
	}
}

// logIn logs in once, at the earliest loginPause after the last time.
func (v *Vault) logIn(ctx context.Context) error {
	l := &v.logins
	if err := backoffs.Pause(ctx, time.Until(l.last.Add(loginPause))); err != nil {
		return v.fail(err)
	}
	again := l.again
	l.last, l.again = time.Now(), true
	infos, err := v.login(ctx, again)
	if err == nil {
		err = v.fill(infos, time.Now())
	}
	if err != nil {
		return v.fail(err)
	}
	return nil
}
