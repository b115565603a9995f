package streams

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/membership"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// part is a share in a test, of a replica "me", and what it acknowledges.
type part struct {
	*share
	acknowledged int64
}

func newPart(t *testing.T, kinds ...abi.Kind) *part {
	t.Helper()
	var handlers []abi.Handler
	for _, kind := range kinds {
		handlers = append(handlers, abi.Handler{Kind: kind, ID: string(kind), Resource: &abi.Selector{Group: new("kopf.dev"), Plural: "kopfexamples"}})
	}
	p := &part{}
	common := &Common{
		Generations: &generations.Generations{}, Settings: settings.Default(), Memories: processing.NewMemories(), Runnables: daemons.NewRunnables(), Log: zerolog.Nop(),
		Holdings: membership.NewHoldings("me", func(generation int64) { p.acknowledged = generation }),
	}
	common.Generations.Replace(generationOf(t, reactortest.Instant{Handlers: handlers}, 0))
	example := selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true, Preferred: true}
	s := &Stream{common: common, Dimension: dimensions.Dimension{Resource: example}, queues: queueing.New(0), working: t.Context(), reading: t.Context()}
	s.share = newShare(s)
	p.share = s.share
	return p
}

// alone gives all objects to the replica, as the first one.
func (p *part) alone() {
	p.holdings.Adopt(membership.Assignment{Generation: 2, Members: []string{"me"}})
}

// lists notes a listing with a version.
func (p *part) lists(version int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch, _ = p.holdings.Epoch()
	p.version = strconv.Itoa(version)
	close(p.listed)
	p.listed = make(chan struct{})
}

func (p *part) gained(version int) queueing.Item {
	it := seen(watching.Listed, version)
	it.Gained, _ = p.holdings.Epoch()
	return it
}

func seen(kind string, version int) queueing.Item {
	return queueing.Item{Event: watching.Event{Type: kind, Meta: watching.Meta{UID: "uid", ResourceVersion: strconv.Itoa(version)}}}
}

// passes returns what becomes of an event: "handled", "indexed" or "dropped".
func (p *part) passes(ctx context.Context, it queueing.Item) string {
	it, concerns := p.sort(ctx, it, queueing.Alone())
	if concerns {
		it, concerns = p.hold(it)
	}
	switch {
	case !concerns:
		return "dropped"
	case it.Standby:
		return "indexed"
	}
	p.handled(it)
	return "handled"
}

func TestEventsOfForeignObjectsAreIndexedAtMost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kinds []abi.Kind
		want  string
	}{{[]abi.Kind{abi.KindCreate}, "dropped"}, {[]abi.Kind{abi.KindCreate, abi.KindIndex}, "indexed"}} {
		p := newPart(t, tt.kinds...)
		if got := p.passes(t.Context(), seen(watching.Added, 5)); got != tt.want {
			t.Errorf("%v: %s", tt.kinds, got)
		}
		if got := p.passes(t.Context(), seen(watching.Deleted, 6)); got != "indexed" {
			t.Errorf("a deletion with %v is %s", tt.kinds, got)
		}
	}
}

func TestOldEventsOfGainedObjectsAreNotHandled(t *testing.T) {
	t.Parallel()
	p := newPart(t, abi.KindCreate)
	p.alone()
	p.lists(10)
	for i, step := range []struct {
		it   queueing.Item
		want string
	}{
		{seen(watching.Modified, 8), "dropped"}, // before the patch of its former owner
		{p.gained(9), "handled"},
		{p.gained(9), "dropped"},
		{seen(watching.Modified, 8), "dropped"},
		{seen(watching.Modified, 9), "dropped"},
		{seen(watching.Modified, 11), "handled"},
		{seen(watching.Deleted, 12), "handled"},
		{seen(watching.Added, 10), "dropped"}, // it was deleted before the listing
		{seen(watching.Added, 13), "handled"}, // a new object
	} {
		if got := p.passes(t.Context(), step.it); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

func TestEventsWaitForTheListingAfterAMove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPart(t, abi.KindCreate)
		p.alone()
		done := make(chan string, 1)
		go func() { done <- p.passes(t.Context(), seen(watching.Added, 11)) }()
		time.Sleep(time.Minute)
		select {
		case got := <-done:
			t.Fatalf("it does not wait, and is %s", got)
		default:
		}
		p.lists(10)
		if got := <-done; got != "handled" {
			t.Errorf("it is %s", got)
		}
	})
}

// The stream ends before the listing: at the exit of the operator, for example.
func TestEventsDoNotWaitForTheListingOfAStreamThatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPart(t, abi.KindCreate)
		var end context.CancelFunc
		p.reading, end = context.WithCancel(t.Context())
		p.alone()
		done := make(chan string, 1)
		go func() { done <- p.passes(t.Context(), seen(watching.Added, 11)) }()
		synctest.Wait()
		end()
		synctest.Wait()
		select {
		case got := <-done:
			if got != "dropped" {
				t.Errorf("it is %s", got)
			}
		default:
			t.Error("it still waits")
			p.lists(10)
			<-done
		}
	})
}

func TestVersionsThatCannotBeComparedAreReadAgain(t *testing.T) {
	t.Parallel()
	p := newPart(t, abi.KindCreate)
	p.alone()
	p.lists(10)
	it := seen(watching.Modified, 11)
	it.Meta.ResourceVersion = "x"
	if it, concerns := p.sort(t.Context(), it, queueing.Alone()); !concerns || !it.Bodiless {
		t.Errorf("got %+v, %v", it, concerns)
	}
}

func TestLossIsAcknowledgedAfterTheWork(t *testing.T) {
	t.Parallel()
	p := newPart(t, abi.KindCreate)
	p.alone()
	p.lists(10)
	if got := p.passes(t.Context(), p.gained(9)); got != "handled" {
		t.Fatal(got)
	}
	p.common.Memories.Notice("uid", true)
	released := make(chan queueing.Item, 1)
	p.queues.Process = func(_ context.Context, it queueing.Item, _ *queueing.Queue) string { released <- it; return "" }
	p.holdings.Adopt(membership.Assignment{Generation: 3, Members: []string{"other"}, Previous: []string{"me"}})
	lost := <-released
	if !lost.Lost || p.acknowledged == 3 {
		t.Fatalf("the queue gets %+v; the generation %d is acknowledged", lost, p.acknowledged)
	}
	if got := p.passes(t.Context(), seen(watching.Modified, 12)); got != "dropped" || p.acknowledged != 3 {
		t.Errorf("the next event is %s; the generation %d is acknowledged", got, p.acknowledged)
	}
	if left := p.common.Memories.Count(); left != 0 {
		t.Errorf("%d objects are remembered", left)
	}
	if got := p.passes(t.Context(), lost); got != "dropped" {
		t.Errorf("the loss is %s", got)
	}
}

func TestListingsOfAnEarlierTimeGainNothing(t *testing.T) {
	t.Parallel()
	p := newPart(t, abi.KindCreate)
	p.alone()
	late := p.gained(9)
	p.holdings.Adopt(membership.Assignment{Generation: 3, Members: []string{"other"}, Previous: []string{"me"}})
	p.holdings.Adopt(membership.Assignment{Generation: 4, Members: []string{"me"}, Previous: []string{"other"}})
	if got := p.passes(t.Context(), late); got != "dropped" {
		t.Errorf("it is %s", got)
	}
	if got := p.passes(t.Context(), p.gained(10)); got != "handled" {
		t.Errorf("the object of a new listing is %s", got)
	}
}

// TestGainedObjectsWaitForTheirBodies: the watch is late, so an event that is older than the listing comes while the object is read. It
// must not take the place of the listed state: it is not handled.
func TestGainedObjectsWaitForTheirBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, asked := newPart(t, abi.KindCreate), 0
		server := reactortest.Replying(func(*http.Request) (int, string) {
			if asked++; asked == 1 {
				return http.StatusUnprocessableEntity, "{}"
			}
			return http.StatusOK, string(reactortest.NewObject(1))
		})
		vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: server}})
		p.common.Client = clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})
		p.alone()
		p.lists(10)
		read := false
		p.queues.Process = func(ctx context.Context, it queueing.Item, q *queueing.Queue) string {
			known := true
			if it.Bodiless {
				it, known = p.admit(ctx, it, q)
			}
			read = read || known && it.Gained > 0 && len(it.Object) > 0
			return ""
		}
		gained, late := p.gained(9), seen(watching.Modified, 8)
		gained.Bodiless = true
		gained.Meta.UID, gained.Meta.Name, gained.Meta.Namespace = "uid-1", "example-1", "default"
		late.Meta.UID = "uid-1"
		ctx, cancel := context.WithCancel(t.Context())
		p.queues.Put(ctx, gained)
		synctest.Wait()
		p.queues.Put(ctx, late)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !read {
			t.Errorf("the object is not handled after %d requests", asked)
		}
		p.queues.Drain(cancel, time.Second)
	})
}
