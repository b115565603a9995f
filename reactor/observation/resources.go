package observation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// rescans are the delays after a change of a resource definition at which discovery is
// repeated: discovery lags behind the definitions.
var rescans = []time.Duration{0, 200 * time.Millisecond, time.Second, 5 * time.Second}

// ObserveResources serves the existing resources, then follows changes of their
// definitions until the context ends. It then calls ended, maybe after it has returned. The error
// is that of the first scan; it repeats later scans.
func (o *Observer) ObserveResources(ctx context.Context, ended func(error)) {
	if err := o.rescan(ctx); err != nil {
		ended(err)
		return
	}
	if !o.Scanning {
		idle(ctx, ended)
		return
	}
	changes := &changeSink{knows: o.knows, changed: make(chan struct{}, 1)}
	stream, err := o.stream(&definitions)
	if err != nil {
		ended(err)
		return
	}
	stream.Keeping = watching.Sum // any change is a reason to scan again
	var following sync.WaitGroup
	changes.follow = func() {
		following.Go(func() {
			for ended := false; !ended; ended = ctx.Err() != nil || changes.ended() {
				o.follow(ctx, changes.changed)
			}
		})
	}
	if !o.isPermitted(ctx, stream.Path, "Not enough permissions to watch for resources: "+
		"changes (creation/deletion/updates) will not be noticed; "+
		"the resources are only refreshed on operator restarts.") {
		o.poll(ctx, ended)
		return
	}
	o.supervised(ctx, stream, &definitions, changes, func(err error) {
		following.Wait()
		ended(err)
	})
}

// follow repeats discovery at the times rescans after a change, and once more after changes in
// between. The last one is repeated until it succeeds, because no further event may come.
func (o *Observer) follow(ctx context.Context, changed <-chan struct{}) {
	<-changed
	for i := 0; i < len(rescans); i++ {
		timer := time.NewTimer(rescans[i])
		select {
		case <-timer.C:
			if err := o.rescan(ctx); err != nil && ctx.Err() == nil {
				o.Log.Warn().Msg(fmt.Sprintf("Cannot discover the resources now: %v", err))
				i = min(i, len(rescans)-2)
			}
		case <-changed:
			timer.Stop()
			i = -1 // start the rescans again
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// poll repeats discovery while something cannot be served, until the context ends: an operator that may not watch the definitions
// would not learn that a missing one was created. It then calls ended.
func (o *Observer) poll(ctx context.Context, ended func(error)) {
	var polling sync.WaitGroup
	polls := false
	o.resolving.Lock()
	defer o.resolving.Unlock()
	o.lacks = func() {
		if polls || len(o.warned) == 0 || ctx.Err() != nil {
			return
		}
		polls = true
		polling.Go(func() { // Waited for below.
			pauses, more := backoffs.Doubling{First: firstPoll, Most: lastPoll}, true
			for more && backoffs.Pause(ctx, pauses.Next()) == nil {
				_ = o.rescan(ctx) // repeated
				o.resolving.Lock()
				more = len(o.warned) > 0
				polls = more
				o.resolving.Unlock()
			}
		})
	}
	o.lacks()
	context.AfterFunc(ctx, func() {
		o.resolving.Lock()   // it begins no more
		o.resolving.Unlock() //nolint:staticcheck // see above
		polling.Wait()
		ended(ctx.Err())
	})
}

// rescan discovers the resources and serves those that handlers demand.
func (o *Observer) rescan(ctx context.Context) error {
	var resources []selectors.Resource
	var partial error
	err := o.Client.Repeat(ctx, apipath.Groups, func() error {
		if resources, partial = discovery.Scan(ctx, o.Client.Discover); resources == nil {
			return partial
		}
		return nil
	})
	if err != nil {
		return err
	}
	o.resolving.Lock()
	defer o.resolving.Unlock()
	o.Last = steady(o.Last, resources, partial)
	o.remember(o.Last)
	o.resolve(ctx, partial)
	return nil
}

// changeSink signals that something has changed. A listed definition counts as changed
// only if it is newer than the last scan, or was created or changed while no watch was open.
type changeSink struct {
	knows   func(definition string) bool
	changed chan struct{} // has a token after a change
	follow  func()        // starts a goroutine that takes the tokens, until ended returns true; nil in tests

	// The newest versions of all definitions that were seen, and of those before the present listing. Empty: none was seen.
	newest, before string

	mu        sync.Mutex // guards following
	following bool       // whether the goroutine exists
}

// Listed implements watching.Sink.
func (s *changeSink) Listed() { s.before = s.newest }

// Event implements watching.Sink.
func (s *changeSink) Event(event watching.Event) {
	version := event.Meta.ResourceVersion
	changed := event.Type != watching.Listed || !s.knows(event.Meta.Name) || s.before != "" && watching.IsLater(version, s.before)
	if s.newest == "" || watching.IsLater(version, s.newest) {
		s.newest = version
	}
	if event.Type != watching.Listed {
		s.before = s.newest
	}
	if !changed {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	if s.follow != nil && !s.following {
		s.following = true
		s.follow()
	}
}

// ended reports whether there is no further change. The goroutine must end then.
func (s *changeSink) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.following = len(s.changed) > 0
	return !s.following
}

// Pauses between two scans of an operator that waits for missing resources.
const (
	firstPoll = time.Second
	lastPoll  = 30 * time.Second
)

// remember keeps the names of the resources of a scan.
func (o *Observer) remember(resources []selectors.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known = discovery.Definitions(resources)
}

// knows reports whether the last scan found the resource of a definition.
func (o *Observer) knows(definition string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[definition]
}
