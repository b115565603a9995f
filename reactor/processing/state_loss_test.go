package processing

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

func TestLargeObjectsAreRefusedInTime(t *testing.T) {
	tests := []struct {
		name    string
		size    int
		storage string
		fails   bool
	}{
		{"small", 1000, "annotations", false},
		{"just fits", 200_000, "annotations", false},
		{"too large", 900_000, "annotations", true},
		{"large, in the status", 900_000, "status", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Repeat("x", tt.size)
			large := dicts.Object{"spec": dicts.Object{"text": text}}
			seen := handling.NewCause(&handling.Object{Raw: []byte(text), Body: large}, &handling.Change{Reason: causes.Create, New: large})
			config := settings.Default()
			for _, name := range []string{"persistence.progress_storage", "persistence.diffbase_storage"} {
				if err := config.Set(name, fmt.Appendf(nil, `{"type":%q}`, tt.storage)); err != nil {
					t.Fatal(err)
				}
			}
			p := &Processor{Settings: config}
			err := p.checkFits(seen, progression.State{}.WithHandlers([]string{"fn"}, time.Now()))
			if (err != nil) != tt.fails {
				t.Errorf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "status") {
				t.Errorf("the cure is not named: %v", err)
			}
		})
	}
}

func TestStateThatIsAlwaysRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said reactortest.Output
		essence := dicts.Object{"spec": dicts.Object{"x": 1}}
		seen := handling.NewCause(&handling.Object{Body: essence, Log: loggers.Logger{Logger: new(zerolog.New(&said))}}, &handling.Change{Reason: causes.Create, New: essence})
		guard := &stateLoss{}
		handled := func() bool {
			if guard.isEndless(seen) {
				return false
			}
			guard.concluded(seen.Change())
			guard.written(false, nil)
			return true
		}
		for i := range 4 {
			if !handled() {
				t.Fatalf("creation %d is not handled", i+1)
			}
		}
		for range 10 {
			if handled() {
				t.Fatal("it continues forever")
			}
		}
		if n := strings.Count(said.String(), "keeps removing"); n != 1 {
			t.Errorf("said %d times", n)
		}
		seen.Change().New = dicts.Object{"spec": dicts.Object{"x": 2}}
		if !handled() {
			t.Error("a changed object is not handled")
		}
		seen.Change().New = essence
		time.Sleep(2 * time.Minute)
		if !handled() {
			t.Error("an object that was left alone is not handled")
		}
	})
}

// progressDropper is a server that drops the progress of handlers from each patch. It counts what
// it is sent.
type progressDropper struct {
	reactortest.MemoryServer
	refuses int // so many patches before it accepts one
}

func (s *progressDropper) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.refuses > 0 {
		s.refuses--
		return reactortest.Answer(http.StatusBadRequest, http.NoBody), nil
	}
	if _, err := s.MemoryServer.RoundTrip(r); err != nil {
		return nil, err
	}
	object, err := dicts.DecodeObject(s.Object)
	if err != nil {
		return nil, err
	}
	if annotations, ok := object["metadata"].(dicts.Object)["annotations"].(dicts.Object); ok {
		maps.DeleteFunc(annotations, func(key string, _ any) bool { return key != lastHandled })
	}
	s.Object = dicts.Encode(object)
	return reactortest.Answer(http.StatusOK, io.NopCloser(bytes.NewReader(s.Object))), nil
}

const lastHandled = "kopf.zalando.org/last-handled-configuration"

// TestProgressThatIsAlwaysRemoved checks that a handler which is to be retried in an hour is
// called four times in a minute at most if its progress is always removed, whatever happens
// to the object. An object that is being deleted keeps its finalizer.
func TestProgressThatIsAlwaysRemoved(t *testing.T) {
	for _, tt := range []struct {
		kind   abi.Kind
		event  string
		meta   string // of the object
		said   string
		blocks bool
	}{
		{kind: abi.KindCreate, event: watching.Added, said: "It will not be handled as a new one"},
		{kind: abi.KindUpdate, event: watching.Modified, meta: `"annotations":{"` + lastHandled + `":"{\"spec\":{\"field\":\"old\"}}"},`, said: "Its updating will not be handled"},
		{kind: abi.KindResume, event: watching.Listed, meta: `"annotations":{"` + lastHandled + `":"{\"spec\":{\"field\":\"new\"}}"},`, said: "Its resuming will not be handled"},
		{kind: abi.KindDelete, event: watching.Modified, meta: `"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["kopf.zalando.org/KopfFinalizerMarker"],`, said: "They will be called again in a minute", blocks: true},
	} {
		t.Run(string(tt.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
				guest := &reactortest.Counting{
					Handlers: []abi.Handler{{Kind: tt.kind, ID: "fn", Resource: &resource}},
					Step:     abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Error: &abi.Error{Kind: abi.ErrorTemporary, Message: "later", Delay: abi.DelayOf(3600)}}},
				}
				registry, err := registries.New(guest)
				if err != nil {
					t.Fatal(err)
				}
				server := &progressDropper{}
				server.Object = fmt.Appendf(nil, `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{%s"name":"a","namespace":"default","uid":"u"},"spec":{"field":"new"}}`, tt.meta)
				p := newProcessor(registry, server)
				var said reactortest.Output
				p.Log = zerolog.New(&said)
				handle := func() { // all events that follow from an event
					for kind, seen := tt.event, -1; seen != server.Version; kind = watching.Modified {
						if seen = server.Version; seen > 100 {
							t.Fatal("it continues forever")
						}
						newer := queueing.Item{Event: watching.Event{Type: watching.Modified, Meta: watching.Meta{UID: "u"}}}
						it := queueing.Item{Event: watching.Event{Type: kind, Object: server.Object, Meta: watching.Meta{UID: "u"}}}
						p.handleOne(t.Context(), it, queueing.Alone(newer)) // which ends sleeps
					}
				}
				for minute := range int64(3) {
					handle()
					if n := guest.Begun.Load(); n > 4*(minute+1) || n < 3*(minute+1) {
						t.Errorf("%d calls after %d times", n, minute+1)
					}
					time.Sleep(2 * lossTime)
				}
				if blocked := bytes.Contains(server.Object, []byte("KopfFinalizerMarker")); blocked != tt.blocks {
					t.Errorf("the object has the finalizer: %t", blocked)
				}
				if !strings.Contains(said.String(), tt.said) {
					t.Errorf("no %q in %s", tt.said, said.String())
				}
			})
		})
	}
}

// TestRefusedPatchesAreNotLostState checks that an object is handled again after any number
// of patches that the server refuses.
func TestRefusedPatchesAreNotLostState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
		registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "fn", Resource: &resource}}})
		if err != nil {
			t.Fatal(err)
		}
		server := &progressDropper{refuses: 10}
		server.Object = reactortest.NewObject(0)
		p := newProcessor(registry, server)
		p.Settings.Queueing.ErrorDelays = backoffs.Seconds()
		for range 11 {
			p.handleOne(t.Context(), queueing.Item{Event: watching.Event{Type: watching.Added, Object: server.Object, Meta: watching.Meta{UID: "u"}}}, queueing.Alone())
		}
		if !bytes.Contains(server.Object, []byte(lastHandled)) {
			t.Errorf("the object was not handled: %s", server.Object)
		}
	})
}
