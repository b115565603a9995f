package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// ErrNotServing says that an operator cannot reload, because it does not serve yet or has
// stopped.
var ErrNotServing = reactor.ErrNotServing

// releaseInterval is the interval between two checks for remaining tasks of a replaced module.
const releaseInterval = 50 * time.Millisecond

// Reload reads the modules again by their names, and replaces the changed ones while the
// operator runs. See reactor.Operator.Replace for the effect on objects, daemons and
// settings. It reports whether a module has changed.
//
// After an error, the previous modules continue. Reload fails if:
//
//   - a new module cannot be read or loaded, or the modules conflict;
//   - a module wants more than its grants, or, with Options.KeepRights, more than its predecessor;
//   - a startup handler fails.
func (op *Operator) Reload(ctx context.Context) (changed bool, err error) {
	op.reloading.Lock()
	defer op.reloading.Unlock()
	before := op.loaded()
	op.files.begin()
	after, err := loadAll(ctx, op.options.source(), op.options.Modules, op.options.Host, before)
	if err != nil {
		return false, err
	}
	op.files.end()
	if op.options.Loaded != nil {
		op.options.Loaded()
	}
	fresh, old := without(after, before), without(before, after)
	if len(fresh) == 0 {
		return false, nil
	}
	left, err := op.replace(ctx, before, after)
	if err == nil {
		err = op.adopt(context.WithoutCancel(ctx), after, fresh, old, left)
	}
	if err != nil {
		for _, module := range fresh {
			err = errors.Join(err, module.Close(context.WithoutCancel(ctx)))
		}
		return false, err
	}
	for i := range after {
		if after[i] != before[i] {
			op.options.Log.Info().Str(loggers.Field, "kopf.reactor").Msg(fmt.Sprintf("%s is replaced by %s.", before[i].module.Name(), after[i].module.Digest()))
		}
	}
	return true, nil
}

// adopt notes that fresh modules have replaced old ones, which are closed later.
//
// Errors: ErrNotServing, if the operator was closed meanwhile. The caller closes the fresh modules then.
func (op *Operator) adopt(ctx context.Context, after []loaded, fresh, old []*host.Module, left <-chan struct{}) error {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.closed {
		return ErrNotServing
	}
	op.present, op.living = after, append(op.living, fresh...)
	op.closing.Go(func() { op.retire(ctx, left, old) }) // Waited for by Operator.Close.
	return nil
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

// without returns the modules of all that are not among the others.
func without(all, others []loaded) []*host.Module {
	rest := slices.DeleteFunc(slices.Clone(all), func(l loaded) bool { return slices.Contains(others, l) })
	return modulesOf(rest)
}

// retire closes replaced modules after their last task has ended. If the operator stops
// first, Operator.Close closes them.
func (op *Operator) retire(ctx context.Context, left <-chan struct{}, modules []*host.Module) {
	select {
	case <-left:
	case <-op.stopped:
		return
	}
	ticker := time.NewTicker(releaseInterval)
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
	trims.freed(op)
}

// ErrMoreRights says that a new module wants more rights than the module that it replaces.
var ErrMoreRights = errors.New("it wants more rights than the running version: restart the operator to accept them")

// checkRights compares each module with the module that it replaces. It compares declared
// rights, not grants, because grants may be wide.
//
// Errors: ErrMoreRights.
func checkRights(before, after []*host.Module) error {
	var more []string
	for i, module := range after {
		more = append(more, declaration.More(before[i].Registration(), module.Registration())...)
	}
	if len(more) > 0 {
		return fmt.Errorf("%w: %s", ErrMoreRights, strings.Join(more, "; "))
	}
	return nil
}
