package operator

import (
	"context"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// lookInterval is the interval between two checks of the files. The operator polls, because
// network filesystems and container mounts deliver no notifications.
const lookInterval = 50 * time.Millisecond

// files remembers the names by which modules were read, and the state of each file at that
// time.
type files struct {
	mu    sync.Mutex // guards the fields below
	names map[string]mark
	again map[string]bool // names that were read since begin
}

// noting returns an Opener that records each name before it calls open. A nil open reads
// files.
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
		if f.again != nil {
			f.again[name] = true
		}
		f.mu.Unlock()
		return open(ctx, name)
	}
}

// begin says that all modules are read again.
func (f *files) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.again = map[string]bool{}
}

// end forgets the names that were not read since begin, such as the module that a manifest has
// named before: that one may be deleted.
func (f *files) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.names, func(name string, _ mark) bool { return !f.again[name] })
	f.again = nil
}

// mark is the state of a file: a changed mark means a changed file. The zero mark stands for
// a name that is not a file.
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

// read returns the marks that were taken when the files were read.
func (f *files) read() map[string]mark {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.names)
}

// marks returns the current marks. They are incomplete while a file is missing that was there, unless another one has changed: a manifest
// may name another module than one that was deleted.
func (f *files) marks() (now map[string]mark, complete bool) {
	now = f.read()
	missing, changed := false, false
	for name, before := range now {
		now[name] = markOf(name)
		isMissing := now[name] == mark{}
		missing = missing || isMissing && now[name] != before
		changed = changed || !isMissing && now[name] != before
	}
	return now, !missing || changed
}

// follow reloads the modules when their files have changed and then stay unchanged for a
// moment. A further change cancels the reload of the earlier content.
func (op *Operator) follow(ctx context.Context) {
	select {
	case <-op.ready:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(lookInterval)
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
		if complete && maps.Equal(now, seen) && !maps.Equal(now, done) && !maps.Equal(now, op.files.read()) { // not read, nor being read
			last()
			done, last = now, op.reload(ctx)
		}
		seen = now
	}
}

// reload starts a reload in a goroutine. The returned function cancels the reload and waits
// for it.
func (op *Operator) reload(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() { // Waited for by the returned function.
		defer close(finished)
		if _, err := op.Reload(ctx); err != nil && ctx.Err() == nil {
			op.options.Log.Error().Str(loggers.Field, "kopf.reactor").Msg("The changed module was refused, and the previous one continues: " + err.Error())
		}
	}()
	return func() {
		cancel()
		<-finished
	}
}
