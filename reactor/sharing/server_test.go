package sharing

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/interests"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// apiServer is an API server without a network, with one resource.
type apiServer struct {
	mu        sync.Mutex // guards all below
	version   int
	compacted int // older versions have expired
	objects   map[string]int
	marks     map[string]string // more metadata of objects, as JSON members
	history   []change
	changed   chan struct{} // closed at each change
	epoch     int           // watches of earlier epochs end
	closed    chan struct{} // closed at the end of the epoch
	forbidden map[string]bool
	watches   map[string]int // open watches by account
	opened    map[string]int // all watches by account
	lists     map[string]int // listings by account, except checks of versions
	reviews   int
}

// change is one line of watches.
type change struct {
	kind, name string
	version    int
	marks      string
}

func newServer() *apiServer {
	return &apiServer{
		version: 1000, objects: map[string]int{}, marks: map[string]string{}, changed: make(chan struct{}), closed: make(chan struct{}), forbidden: map[string]bool{},
		watches: map[string]int{}, opened: map[string]int{}, lists: map[string]int{},
	}
}

// put creates or changes an object; with no name, it sends a bookmark.
func (s *apiServer) put(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "MODIFIED"
	s.version++
	switch _, exists := s.objects[name]; {
	case name == "":
		kind = "BOOKMARK"
	case !exists:
		kind = "ADDED"
	}
	if name != "" {
		s.objects[name] = s.version
	}
	s.send(kind, name)
}

func (s *apiServer) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	delete(s.objects, name)
	s.send("DELETED", name)
}

// mark changes an object together with its marks.
func (s *apiServer) mark(name, marks string) {
	s.mu.Lock()
	s.marks[name] = marks
	s.mu.Unlock()
	s.put(name)
}

// label changes an object together with its label "for".
func (s *apiServer) label(name, value string) {
	s.mark(name, fmt.Sprintf(`,"labels":{"for":%q}`, value))
}

// elsewhere changes objects of other resources.
func (s *apiServer) elsewhere() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
}

func (s *apiServer) send(kind, name string) {
	s.history = append(s.history, change{kind, name, s.version, s.marks[name]})
	close(s.changed)
	s.changed = make(chan struct{})
}

// end closes all watches.
func (s *apiServer) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	close(s.closed)
	s.closed = make(chan struct{})
}

// forbid refuses or permits the listings and watches of an account.
func (s *apiServer) forbid(account string, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbidden[account] = refused
}

// expire compacts all versions, and ends all watches with it.
func (s *apiServer) expire() {
	s.mu.Lock()
	s.compacted, s.history = s.version, append(s.history, change{"ERROR", "", s.version, ""})
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
}

// count returns a number of the server.
func (s *apiServer) count(of map[string]int, account string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return of[account]
}

// transport sends the requests of one account.
type transport struct {
	*apiServer
	account string
}

func answer(status int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: body}
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPost:
		t.reviews++
		return answer(http.StatusCreated, io.NopCloser(strings.NewReader(fmt.Sprintf(`{"status":{"allowed":%t}}`, !t.forbidden[t.account])))), nil
	case t.forbidden[t.account]:
		return answer(http.StatusForbidden, io.NopCloser(strings.NewReader(`{"kind":"Status","code":403}`))), nil
	case query.Get("watch") != "":
		from, _ := strconv.Atoi(query.Get("resourceVersion"))
		if from < t.compacted {
			return answer(http.StatusGone, io.NopCloser(strings.NewReader(`{"kind":"Status","code":410}`))), nil
		}
		t.watches[t.account]++
		t.opened[t.account]++
		next := 0
		for next < len(t.history) && t.history[next].version <= from {
			next++
		}
		return answer(http.StatusOK, &lines{server: t.apiServer, account: t.account, ctx: r.Context(), next: next, epoch: t.epoch}), nil
	}
	if query.Get("limit") != "1" {
		t.lists[t.account]++
	}
	var items []string
	for name, version := range t.objects {
		items = append(items, object(name, version, t.marks[name]))
	}
	text := fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"items":[%s]}`, t.version, strings.Join(items, ","))
	return answer(http.StatusOK, io.NopCloser(strings.NewReader(text))), nil
}

func object(name string, version int, marks string) string {
	return fmt.Sprintf(`{"kind":"K","metadata":{"uid":"uid-%s","name":%q,"resourceVersion":"%d"%s}}`, name, name, version, marks)
}

// lines is the body of one watch.
type lines struct {
	server  *apiServer
	account string
	ctx     context.Context
	next    int
	epoch   int
	rest    bytes.Buffer
	over    bool
}

func (l *lines) Read(p []byte) (int, error) {
	for l.rest.Len() == 0 {
		s := l.server
		s.mu.Lock()
		if s.epoch != l.epoch {
			s.mu.Unlock()
			return 0, io.EOF
		}
		if l.next < len(s.history) {
			c := s.history[l.next]
			text := object(c.name, c.version, c.marks)
			if c.kind == "ERROR" {
				text = `{"kind":"Status","code":410,"message":"too old"}`
			}
			fmt.Fprintf(&l.rest, `{"type":%q,"object":%s}`+"\n", c.kind, text)
			l.next++
			s.mu.Unlock()
			break
		}
		changed, closed := s.changed, s.closed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-closed:
		case <-l.ctx.Done():
			return 0, l.ctx.Err()
		}
	}
	return l.rest.Read(p)
}

func (l *lines) Close() error {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if !l.over {
		l.over = true
		l.server.watches[l.account]--
	}
	return nil
}

// client is the client of an account.
func (s *apiServer) client(account string) *clients.Client {
	return clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: transport{s, account}}}), func() clients.Options {
		return clients.Options{RequestTimeout: time.Minute, FinalRefusals: account == "host", Backoffs: backoffs.Seconds(1, 1)}
	}, func(string) {})
}

func options() watching.Options {
	return watching.Options{InactivityTimeout: time.Hour, ReconnectBackoff: 100 * time.Millisecond}
}

// subscriber is a running stream with what it has received.
type subscriber struct {
	stream *watching.Stream
	stop   func()
	hold   chan struct{} // if not nil, its events wait until it is closed

	mu       sync.Mutex // guards all below
	objects  map[string]string
	events   int      // of watches
	types    []string // of all events, with the names
	listings int
	wrong    []string
}

// Event keeps the state that the events describe.
func (s *subscriber) Event(e watching.Event) {
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name, version := e.Meta.Name, e.Meta.ResourceVersion
	seen := cmp.Or(e.Type, "LISTED") + " " + name
	if e.Early {
		seen += " early"
	}
	s.types = append(s.types, seen)
	before, known := s.objects[name]
	switch e.Type {
	case watching.Deleted:
		if !known {
			s.wrong = append(s.wrong, name+" is deleted twice")
		}
		delete(s.objects, name)
	case watching.Added:
		if known {
			s.wrong = append(s.wrong, name+" is added twice")
		}
		fallthrough
	case watching.Modified:
		if older(version, before) {
			s.wrong = append(s.wrong, fmt.Sprintf("%s has version %s after %s", name, version, before))
		}
		fallthrough
	default:
		s.objects[name] = version
	}
	if e.Type != watching.Listed {
		s.events++
	}
}

func older(version, before string) bool {
	a, _ := strconv.Atoi(version)
	b, _ := strconv.Atoi(before)
	return a <= b
}

func (s *subscriber) Listed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listings++
}

// world is a hub with a server.
type world struct {
	*apiServer
	hub        *Hub
	over       func()        // ends the hub
	inactivity time.Duration // the timeout of the subscribers; 0: an hour
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s := newServer()
	ctx, cancel := context.WithCancel(t.Context())
	return &world{apiServer: s, hub: New(ctx, Options{Client: s.client("host"), Watching: options, Log: func(int, string) {}}), over: cancel}
}

// join runs a stream of an account. Its stop function waits for its end.
func (w *world) join(t testing.TB, account string) *subscriber {
	t.Helper()
	return w.joinWith(t, account, nil)
}

// joinFor runs a stream with an interest in objects with a value of the label "for".
func (w *world) joinFor(t testing.TB, account, value string) *subscriber {
	t.Helper()
	return w.joinWith(t, account, wanting(value))
}

func wanting(value string) *interests.Interest {
	return &interests.Interest{Finalizer: "own/finalizer", Labels: [][]filters.Label{{{Key: "for", Value: value}}}}
}

func (w *world) joinWith(t testing.TB, account string, i *interests.Interest) *subscriber {
	t.Helper()
	client := w.client(account)
	log := func(_ int, message string) { t.Log(account + ": " + message) }
	o := options()
	o.InactivityTimeout = cmp.Or(w.inactivity, o.InactivityTimeout)
	s := &subscriber{objects: map[string]string{}, stream: &watching.Stream{
		Client: client, Path: "/apis/g/v1/ks", APIVersion: "g/v1", Kind: "K", Options: func() watching.Options { return o }, Log: log,
		Source: w.hub.Source(Subscriber{Client: client, Log: log}, Scope{Group: "g", Version: "v1", Plural: "ks"}),
	}}
	s.stream.SetInterest(i)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.stream.Run(ctx, s)
	}()
	s.stop = func() {
		cancel()
		<-done
	}
	return s
}

// agrees checks that a subscriber knows the objects of the server, and has seen no event
// twice or in the wrong order.
func (w *world) agrees(t *testing.T, name string, s *subscriber) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.wrong {
		t.Errorf("%s: %s", name, text)
	}
	if len(s.objects) != len(w.objects) {
		t.Errorf("%s knows %d objects, want %d", name, len(s.objects), len(w.objects))
	}
	for object, version := range w.objects {
		if s.objects[object] != strconv.Itoa(version) {
			t.Errorf("%s knows %s at %q, want %d", name, object, s.objects[object], version)
		}
	}
}

func (s *subscriber) counts() (events, listings int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events, s.listings
}
