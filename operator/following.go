package operator

import (
	"context"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// looking is how often files are looked at. They are asked for, as notifications do
// not come through network filesystems and mounts of containers.
const looking = 50 * time.Millisecond

// files are the names that modules were read by, with what the files among them were
// like then.
type files struct {
	mu    sync.Mutex // guards names
	names map[string]mark
}

// noting makes an Opener that notes what it is asked for. Nil opens files.
func (f *files) noting(open Opener) Opener {
	if open == nil {
		open = Files
	}
	return func(ctx context.Context, name string) (string, []byte, error) {
		f.mu.Lock()
		if f.names == nil {
			f.names = map[string]mark{}
		}
		f.names[name] = markOf(name)
		f.mu.Unlock()
		return open(ctx, name)
	}
}

// mark tells whether a file has changed. The zero value is that of what is no file.
type mark struct {
	size int64
	time time.Time
}

func markOf(name string) mark {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return mark{}
	}
	return mark{info.Size(), info.ModTime()}
}

// read are the marks as of the reading.
func (f *files) read() map[string]mark {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.names)
}

// marks are those of now. They are not complete while a file is missing.
func (f *files) marks() (now map[string]mark, complete bool) {
	now, complete = f.read(), true
	for name, before := range now {
		now[name] = markOf(name)
		complete = complete && (now[name] == mark{}) == (before == mark{})
	}
	return now, complete
}

// follow reloads the modules whenever their files have changed and stay as they are
// for a moment. A change ends the reloading of what was there before it.
func (op *Operator) follow(ctx context.Context) {
	select {
	case <-op.ready:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(looking)
	defer ticker.Stop()
	done := op.files.read()
	seen, last := done, func() {}
	defer func() { last() }()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now, complete := op.files.marks()
		if complete && maps.Equal(now, seen) && !maps.Equal(now, done) {
			last()
			done, last = now, op.reload(ctx)
		}
		seen = now
	}
}

// reload reloads beside the caller. The returned function ends that.
func (op *Operator) reload(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() { // Waited for by the returned function.
		defer close(finished)
		if _, err := op.Reload(ctx); err != nil && ctx.Err() == nil {
			op.options.Log.Error().Str(loggers.Field, "kopf.reactor").Msg("The changed module is not taken, the one before goes on: " + err.Error())
		}
	}()
	return func() {
		cancel()
		<-finished
	}
}
