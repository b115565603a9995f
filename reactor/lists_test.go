package reactor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/events"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// compaction is how long an API server keeps the version of a listing.
const compaction = 5 * time.Minute

// store is a server with many objects and without a network, for use in virtual time. It
// accepts each patch, and its watches send nothing.
type store struct {
	mu      sync.Mutex // guards the fields below
	objects int
	lists   []string // limits and tokens of the listings
	began   time.Time

	many func() func() // Options.Many
}

func (s *store) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPatch:
		return reactortest.Answer(http.StatusOK, io.NopCloser(bytes.NewReader(reactortest.NewObject(1)))), nil
	case query.Get("watch") != "":
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists = append(s.lists, strings.TrimSpace(query.Get("limit")+" "+query.Get("continue")))
	from, _ := strconv.Atoi(query.Get("continue")) // the server's own token, or none
	if from == 0 {
		s.began = time.Now()
	} else if time.Since(s.began) > compaction {
		return reactortest.Answer(http.StatusGone, http.NoBody), nil
	}
	to, token := s.objects, ""
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && from+limit < s.objects {
		to, token = from+limit, strconv.Itoa(from+limit)
	}
	var items []string
	for n := from; n < to; n++ {
		items = append(items, string(reactortest.NewObject(n)))
	}
	text := fmt.Sprintf(`{"metadata":{"resourceVersion":"9","continue":%q},"items":[%s]}`, token, strings.Join(items, ","))
	return reactortest.Answer(http.StatusOK, io.NopCloser(strings.NewReader(text))), nil
}

// TestListingsOfSlowHandlers checks that handlers of 70 seconds, one at a time, do not
// break the stream or its connection, and that all objects are handled. Handlers of
// changes give up their slots; those of indices delay the listing.
func TestListingsOfSlowHandlers(t *testing.T) {
	for _, tt := range []struct {
		kind    abi.Kind
		objects int
		least   int64 // calls
		lists   string
	}{
		{abi.KindCreate, 320, 320, `["500"]`},
		{abi.KindCreate, 900, 900, `["500" "500 500"]`},
		{abi.KindIndex, 320, 320, `["500"]`},
		{abi.KindIndex, 900, 900, `["500" "500 500" ""]`}, // by the time of the second page, the listing has expired
	} {
		t.Run(fmt.Sprint(tt.kind, tt.objects), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
				seconds := 70.0
				guest := &reactortest.Counting{
					Handlers: []abi.Handler{{Kind: tt.kind, ID: "fn", Resource: &resource}},
					Step:     abi.Step{Step: abi.StepWait, Seconds: &seconds},
				}
				server := &store{objects: tt.objects}
				op, stop := streaming(t, server, guest, map[string]string{"execution.max_workers": "1"})
				for end := time.Now().Add(time.Duration(tt.objects+1) * 70 * time.Second); time.Now().Before(end); time.Sleep(time.Minute) {
					for _, s := range op.Streams() {
						if s.Broken(time.Now()) || s.Failures > 0 {
							t.Fatalf("after %d handlers: %+v", guest.Begun.Load(), s)
						}
					}
				}
				if n := guest.Begun.Load(); n < tt.least {
					t.Errorf("%d handlers have begun, want %d at least", n, tt.least)
				}
				stop()
				if got := fmt.Sprintf("%q", server.lists); got != tt.lists {
					t.Errorf("the listings are %s, want %s", got, tt.lists)
				}
			})
		})
	}
}

// TestListingsOfManyObjectsAreAnnounced checks that the program learns that a listing has many objects, while it runs.
func TestListingsOfManyObjectsAreAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
		guest := &reactortest.Counting{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "fn", Resource: &resource}}, Step: abi.Step{Step: abi.StepDone}}
		server := &store{objects: 900}
		var said []string
		server.many = func() func() {
			said = append(said, fmt.Sprint("many at ", len(server.lists)))
			return func() { said = append(said, fmt.Sprint("over at ", len(server.lists))) }
		}
		_, stop := streaming(t, server, guest, nil)
		time.Sleep(time.Minute)
		stop()
		if got := fmt.Sprint(said); got != "[many at 1 over at 2]" {
			t.Errorf("the operator has said %s", got)
		}
	})
}

// streaming serves one resource of a server until the returned function is called, which
// exits as an operator does.
func streaming(t *testing.T, server http.RoundTripper, guest guests.Guest, changes map[string]string) (op *Operator, stop func()) {
	t.Helper()
	op, end := oneStream(t, server, guest, changes)
	return op, func() {
		op.runnables.Close()
		end()
	}
}

// oneStream serves one resource of a server until the returned function ends the stream.
func oneStream(t *testing.T, server http.RoundTripper, guest guests.Guest, changes map[string]string) (op *Operator, end func()) {
	t.Helper()
	registry, err := registries.New(guest)
	if err != nil {
		t.Fatal(err)
	}
	op = configured(t, changes)
	if s, ok := server.(*store); ok {
		op.Many = s.many
	}
	op.Log, op.events, op.unanswered = zerolog.New(io.Discard), events.New(op.Settings), make(chan struct{}, 1)
	op.client = clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: server}}), op.requestOptions, func(string) {})
	op.runnables.Limit(op.Settings.Execution.MaxWorkers)
	first, err := op.newGeneration(0, registry, calls.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first.Indexed.Add()
	first.Indexed.Done()
	op.generations.Replace(first)
	ctx, cancel := context.WithCancel(t.Context())
	first.Registry.Bind(ctx, op.Log, op.askLater, handling.AskForResource(&op.Log))
	ended := make(chan struct{})
	d := &dimensions.Dimension{Resource: selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true}}
	go op.common().Serve(ctx, d, func() { close(ended) })
	return op, func() {
		cancel()
		<-ended
	}
}
