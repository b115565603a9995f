package operator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// ErrNotServing says that an operator cannot reload: it does not serve yet, or not
// any more.
var ErrNotServing = reactor.ErrNotServing

// releasing is how often it is looked whether a module that was replaced has tasks left.
const releasing = 50 * time.Millisecond

// Reload reads the modules again by their names. If any of them has changed, it takes
// the place of the one before, while the operator goes on: see reactor.Operator.Replace
// for what becomes of objects, daemons, and settings. It tells whether anything has changed.
//
// An error means that the modules before go on: the new ones cannot be read or loaded,
// do not go together, want more than they are granted, or than those before if
// Options.KeepRights says so, or their startup handlers fail.
func (op *Operator) Reload(ctx context.Context) (changed bool, err error) {
	op.reloading.Lock()
	defer op.reloading.Unlock()
	before := op.loaded()
	after, err := loadAll(ctx, op.options.source(), op.options.Modules, op.options.Host, before)
	if err != nil {
		return false, err
	}
	fresh, old := without(after, before), without(before, after)
	if len(fresh) == 0 {
		return false, nil
	}
	left, err := op.replace(ctx, before, after)
	if err != nil {
		for _, module := range fresh {
			err = errors.Join(err, module.Close(context.WithoutCancel(ctx)))
		}
		return false, err
	}
	op.mu.Lock()
	op.present, op.living = after, append(op.living, fresh...)
	op.mu.Unlock()
	for i := range after {
		if after[i] != before[i] {
			op.options.Log.Info().Str(loggers.Field, "kopf.reactor").Msg(fmt.Sprintf("%s is replaced by %s.", before[i].module.Name(), after[i].module.Digest()))
		}
	}
	last := context.WithoutCancel(ctx)
	op.closing.Go(func() { op.retire(last, left, old) }) // Waited for by Operator.Close.
	return true, nil
}

func (op *Operator) replace(ctx context.Context, before, after []loaded) (left <-chan struct{}, err error) {
	if op.options.KeepRights {
		if err := checkRights(modulesOf(before), modulesOf(after)); err != nil {
			return nil, err
		}
	}
	registry, granted, err := op.options.join(modulesOf(after))
	if err != nil {
		return nil, err
	}
	return op.reactor.Replace(ctx, registry, granted)
}

func (op *Operator) loaded() []loaded {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.present
}

// without are the modules that the others have not.
func without(all, others []loaded) []*host.Module {
	rest := slices.DeleteFunc(slices.Clone(all), func(l loaded) bool { return slices.Contains(others, l) })
	return modulesOf(rest)
}

// retire closes modules that were replaced, when nothing of them is left to run. If the
// operator stops before, who closes the operator closes them too.
func (op *Operator) retire(ctx context.Context, left <-chan struct{}, modules []*host.Module) {
	select {
	case <-left:
	case <-op.stopped:
		return
	}
	ticker := time.NewTicker(releasing)
	defer ticker.Stop()
	for _, module := range modules {
		for u := module.Usage(); u.Living > u.Idle; u = module.Usage() {
			select {
			case <-ticker.C:
			case <-op.stopped:
				return
			}
		}
		if err := module.Close(ctx); err != nil {
			op.options.Log.Error().Str(loggers.Field, "kopf.reactor").Err(err).Msg("a module that was replaced cannot be closed")
		}
		op.options.Log.Debug().Str(loggers.Field, "kopf.reactor").Msg(fmt.Sprintf("%s is closed: %s.", module.Name(), module.Digest()))
		op.forget(module)
	}
	debug.FreeOSMemory() // as at the start
}
