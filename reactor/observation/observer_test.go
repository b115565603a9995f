package observation

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// A definition that is created between the scan and the listing is in the listing only. It
// must not be missed.
func TestChangesOfDefinitions(t *testing.T) {
	o := &Observer{}
	o.remember([]selectors.Resource{{Group: "kopf.dev", Plural: "kopfexamples"}, {Plural: "pods"}})
	tests := []struct {
		name, event, definition string
		changed                 bool
	}{
		{"listed and known", watching.Listed, "kopfexamples.kopf.dev", false},
		{"listed and newer than the scan", watching.Listed, "others.kopf.dev", true},
		{"of another group", watching.Listed, "kopfexamples.example.com", true},
		{"added", watching.Added, "others.kopf.dev", true},
		{"modified", watching.Modified, "kopfexamples.kopf.dev", true},
		{"deleted", watching.Deleted, "kopfexamples.kopf.dev", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sink := &changeSink{knows: o.knows, changed: make(chan struct{}, 1)}
			for range 2 { // it never blocks
				sink.Event(watching.Event{Type: test.event, Meta: watching.Meta{Name: test.definition}})
			}
			if changed := len(sink.changed) > 0; changed != test.changed {
				t.Errorf("changed = %v", changed)
			}
		})
	}
}

// A goroutine follows changes while there are some, and no change is missed.
func TestChangesAreFollowed(t *testing.T) {
	const changes = 1000
	var goroutines sync.WaitGroup
	running, taken := 0, 0
	sink := &changeSink{knows: func(string) bool { return false }, changed: make(chan struct{}, 1)}
	sink.follow = func() {
		running++ // under the lock of the sink
		goroutines.Go(func() {
			for ended := false; !ended; ended = sink.ended() {
				<-sink.changed
				taken++ // one goroutine at a time
			}
		})
	}
	for range changes {
		sink.Event(watching.Event{Type: watching.Added})
		runtime.Gosched()
	}
	goroutines.Wait()
	if len(sink.changed) > 0 || taken == 0 || running == 0 || running > changes || sink.following {
		t.Errorf("%d goroutines took %d changes; one remains: %t", running, taken, len(sink.changed) > 0)
	}
}

// A namespace that does not exist is named once, because an operator that handles nothing would
// be all that a wrong name causes.
func TestMissingNamespacesAreNamedOnce(t *testing.T) {
	var log strings.Builder
	o := &Observer{Namespaces: selectors.ParseNamespaces([]string{"there", "wrong", "team-*"}), Orchestrator: newTestOrchestrator(&streams{}), Log: zerolog.New(&log)}
	sink := &namespaceSink{observer: o, ctx: t.Context(), names: map[string]string{}}
	sink.Event(watching.Event{Type: watching.Listed, Meta: watching.Meta{Name: "there"}, Object: []byte("{}")})
	sink.Listed()
	sink.Listed() // after the connection broke
	if got := log.String(); strings.Count(got, "There is no namespace") != 1 || !strings.Contains(got, "There is no namespace wrong: it is served as soon as it is created.") {
		t.Errorf("it logged %s", got)
	}
}

// TestNamespacesThatAreMadeAgain: the next listing has the new namespace, and then the stream reports that the old one is gone.
func TestNamespacesThatAreMadeAgain(t *testing.T) {
	orchestrator := newTestOrchestrator(&streams{})
	o := &Observer{Namespaces: selectors.ParseNamespaces([]string{"team-*"}), Orchestrator: orchestrator, Log: zerolog.Nop()}
	sink := &namespaceSink{observer: o, ctx: t.Context(), names: map[string]string{}}
	event := func(kind, uid string) {
		sink.Event(watching.Event{Type: kind, Meta: watching.Meta{Name: "team-a", UID: uid}, Object: []byte("{}")})
	}
	event(watching.Listed, "old")
	sink.Listed()
	event(watching.Listed, "new")
	event(watching.Deleted, "old")
	sink.Listed()
	if got := orchestrator.Namespaces; len(got) != 1 {
		t.Errorf("the namespaces are %v", got)
	}
	if event(watching.Deleted, "new"); len(orchestrator.Namespaces) > 0 {
		t.Errorf("the namespaces are %v", orchestrator.Namespaces)
	}
}

// TestScansAreRepeated: a definition that was created while the API server could not be asked has no further event.
func TestScansAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last atomic.Int64
		broken := reactortest.Replying(func(r *http.Request) (int, string) {
			last.Store(time.Now().UnixNano())
			return http.StatusInternalServerError, "{}"
		})
		vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: broken}})
		o := &Observer{Client: clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {}), Log: zerolog.Nop()}
		changed := make(chan struct{}, 1)
		changed <- struct{}{}
		ctx, cancel := context.WithCancel(t.Context())
		go o.follow(ctx, changed)
		time.Sleep(time.Hour)
		if silent := time.Since(time.Unix(0, last.Load())); silent > time.Minute {
			t.Errorf("the last scan was %v ago", silent)
		}
		cancel()
	})
}

// TestChangesBetweenTwoWatches: a definition that was changed while no watch was open is in the next listing only.
func TestChangesBetweenTwoWatches(t *testing.T) {
	sink := &changeSink{knows: func(string) bool { return true }, changed: make(chan struct{}, 1)}
	list := func(versions ...string) (changed bool) {
		for _, version := range versions {
			sink.Event(watching.Event{Type: watching.Listed, Meta: watching.Meta{ResourceVersion: version}})
		}
		sink.Listed()
		changed = len(sink.changed) > 0
		sink.changed = make(chan struct{}, 1)
		return changed
	}
	if list("7", "20", "9") {
		t.Error("the first listing is a change")
	}
	if list("7", "20", "9") {
		t.Error("an equal listing is a change")
	}
	if !list("21", "20", "9") {
		t.Error("a change is missed")
	}
	sink.Event(watching.Event{Type: watching.Modified, Meta: watching.Meta{ResourceVersion: "30"}})
	sink.changed = make(chan struct{}, 1)
	if list("21", "30", "9") {
		t.Error("a change that was seen counts again")
	}
}
