package watching

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// These constants bound the pauses of a stream that cannot be opened.
const (
	minBackoff = time.Second / 2
	maxBackoff = 30 * time.Second
)

// brief is how long a watch without events lasts at least if all is well.
const brief = time.Second

// Options are the settings of a stream.
type Options struct {
	ServerTimeout     time.Duration
	ClientTimeout     time.Duration
	ReconnectBackoff  time.Duration
	InactivityTimeout time.Duration // 0: no limit
	ChunkSize         int           // objects per page of a listing; 0: all at once
	InitialStreaming  bool          // stream the initial objects instead of listing them, if the server supports it

	// Labels, Fields and Shard select the objects, in the syntax of the API server.
	Labels, Fields, Shard string
}

// Sink receives the events of a stream, on the goroutine of the stream.
type Sink interface {
	// Event receives one event. It must not block for long, because nothing is read during
	// that time.
	Event(Event)

	// Listed marks the initial listing as complete.
	Listed()
}

// Stream is the stream of one resource in one scope.
type Stream struct {
	Client     *clients.Client
	Path       apipath.Path // of the listing
	APIVersion string       // of the objects
	Kind       string       // of the objects
	Options    func() Options
	Log        func(level int, message string)

	// Source opens the watches; nil: they use the connections of Client.
	Source Source

	// Apart lets watches without a Source have connections of their own: see Connection.
	Apart bool

	// Pace, if not nil, waits between two pages of a listing until the next page is wanted,
	// or the context ends. During that time there is no connection, and nothing is expected
	// of the server.
	Pace func(ctx context.Context)

	// Many, if not nil, is called when a listing turns out to be one of many objects: it has more
	// than one page, or as many objects are streamed. It returns the function that is called when
	// the listing is over.
	Many func() (end func())

	// Keeping says what the stream remembers of its objects.
	Keeping Keeping

	// Keep selects the objects whose end is reported even if no watch was open; nil: all.
	Keep func(Meta) bool

	// known are the objects that exist as far as the stream knows. Known objects that are
	// not in the next listing were deleted while no watch was open. They outlive the pauses
	// between two runs.
	known known

	mu sync.Mutex // guards known and attention against Again, and serialises events

	attention attention

	// initial are the objects that a streamed listing has passed so far; nil outside of a
	// streamed listing.
	initial map[string]struct{}
	many    many // of a streamed listing

	unstreamable bool // whether the server cannot stream listings
	fruitful     bool // whether a watch has lasted, or passed an event, since the last listing
	health       health
}

// Known returns the objects that the stream knew at its end. They must not be changed.
func (s *Stream) Known() Objects { return s.known.own }

// Inherit takes over the objects that an earlier stream of the same objects knew at its
// end. The first listing reports those that are gone as deleted. It must be called before
// Run.
func (s *Stream) Inherit(objects Objects) { s.known.own = objects }

// Lose reports all known objects as deleted, because their resource or their namespace is
// gone. It must be called after Run.
func (s *Stream) Lose(sink Sink) { s.miss(nil, sink) }

// ErrExpired means that the version of a watch is too old, so that a new listing is
// needed.
var ErrExpired = errors.New("the version of the watch has expired")

// streams reports whether the existing objects are streamed.
func (s *Stream) streams() bool { return s.Options().InitialStreaming && !s.unstreamable }

// begin passes on all existing objects: listed, or streamed if that is wanted and
// supported.
func (s *Stream) begin(ctx context.Context, sink Sink) (version string, err error) {
	if widened := s.adopt(); s.streams() && !widened {
		version, err = s.streamed(ctx, sink)
		if !s.unstreamable {
			return version, err
		}
		s.Log(abi.LevelWarning, fmt.Sprintf("The server cannot stream the initial listing of %s; listing it: %v", s.Path, err))
	}
	if version, err = s.list(ctx, sink); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed(sink)
	return version, nil
}

// streamed opens a watch that first passes the existing objects. It returns the version
// from which to continue when that watch has ended.
func (s *Stream) streamed(ctx context.Context, sink Sink) (version string, err error) {
	s.initial = map[string]struct{}{}
	defer s.many.over()
	w, err := s.open(ctx, "", false)
	if w != nil {
		_, err = w.follow(sink, nil)
		version = w.version
		w.close()
	}
	if code, ok := clients.Code(err); ok && (code == http.StatusBadRequest || code == http.StatusUnprocessableEntity) {
		s.unstreamable = true
	}
	if err == nil && s.initial != nil && ctx.Err() == nil {
		err = errors.New("the initial listing was cut off")
	}
	s.initial = nil
	return version, err
}

// listed marks all existing objects as passed on. The caller holds the mutex.
func (s *Stream) listed(sink Sink) {
	s.settle()
	sink.Listed()
}

// list passes on all objects, page by page, and reports those that are gone.
func (s *Stream) list(ctx context.Context, sink Sink) (version string, err error) {
	var seen map[string]struct{} // nil: none can be missing
	begin := func() { seen = map[string]struct{}{} }
	if !s.known.isEmpty() {
		begin()
	}
	version, err = s.pages(ctx, s.page, begin, func(event Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.concerns(&event) {
			return
		}
		if seen != nil {
			seen[event.Meta.Key()] = struct{}{}
		}
		shown := s.showsAgain(event)
		s.keep(event.Meta, false)
		if !shown {
			sink.Event(event)
		}
	})
	if err != nil {
		return "", err
	}
	if seen != nil {
		s.miss(seen, sink)
	}
	return version, nil
}

// pageReader reads one page of a listing.
type pageReader func(ctx context.Context, patience time.Duration, query url.Values, take func(Event)) (listMeta, error)

// pages reads a whole listing and returns its version. If the version expires between two
// pages, it calls restart and lists all objects again, as the pager of client-go does.
func (s *Stream) pages(ctx context.Context, read pageReader, restart func(), take func(Event)) (version string, err error) {
	var many many
	defer many.over()
	options := s.Options()
	query := options.selection()
	if size := options.ChunkSize; size > 0 {
		query.Set("limit", strconv.Itoa(size))
	}
	for {
		var text size
		meta, err := read(ctx, options.InactivityTimeout, query, func(event Event) {
			text.add(event.Object)
			take(event)
		})
		switch code, _ := clients.Code(err); {
		case code == http.StatusGone && query.Has("continue"):
			s.Log(abi.LevelDebug, fmt.Sprintf("The listing of %s has expired between two pages; listing it at once.", s.Path))
			query.Del("continue")
			query.Del("limit")
			restart()
		case err != nil || meta.Continue == "":
			return meta.ResourceVersion, err
		default:
			many.begin(s)
			if s.Pace != nil {
				s.Pace(ctx)
			}
			query.Set("continue", meta.Continue)
			query.Set("limit", strconv.Itoa(text.nextPage(options.ChunkSize)))
		}
	}
}

// miss reports the known objects that were not seen as deleted.
func (s *Stream) miss(seen map[string]struct{}, sink Sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed(seen, sink)
}

func (s *Stream) missed(seen map[string]struct{}, sink Sink) {
	for _, meta := range s.known.without(seen) {
		if s.Keeping != Sum {
			s.known.remove(meta.Key())
		}
		sink.Event(Vanished(s.APIVersion, s.Kind, meta))
	}
}

func (s *Stream) page(ctx context.Context, patience time.Duration, query url.Values, take func(Event)) (listMeta, error) {
	s.health.enter(Listing, patience)
	defer s.health.idle()
	return s.read(ctx, patience, query, func(event Event) {
		s.health.event()
		take(event)
	})
}

// read reads one page of a listing.
func (s *Stream) read(ctx context.Context, patience time.Duration, query url.Values, take func(Event)) (listMeta, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := s.watchdog(patience, func() { cancel(errInactive) })
	defer alive.stop()
	body, err := s.Client.Stream(ctx, s.Path, query, clients.Hooks{Failed: s.health.retried})
	if err != nil {
		return listMeta{}, cmp.Or(context.Cause(ctx), err)
	}
	defer body.Close()
	s.health.connected()
	meta, err := decodeList(alive.over(body), func(object []byte) error {
		meta, kind, err := parseObject(object)
		if err != nil {
			return err
		}
		if kind == "" {
			object = withType(object, s.APIVersion, s.Kind)
		}
		take(Event{Type: Listed, Object: object, Meta: meta})
		return nil
	})
	if err != nil {
		err = cmp.Or(context.Cause(ctx), err)
	}
	return meta, err
}

// Vanished makes the event of a missed deletion. It has only the identity, because the
// last body is not kept.
func Vanished(apiVersion, kind string, meta Meta) Event {
	object, _ := json.Marshal(map[string]any{ // cannot fail: strings only
		"apiVersion": apiVersion,
		"kind":       kind,
		"metadata": map[string]any{
			"name": meta.Name, "namespace": meta.Namespace, "uid": meta.UID, "resourceVersion": meta.ResourceVersion,
		},
	})
	return Event{Type: Deleted, Object: object, Meta: meta}
}

// source returns where the watches come from.
func (s *Stream) source() Source {
	if s.Source != nil && s.initial == nil { // the existing objects are what this account may see
		return s.Source
	}
	return Connection{s.Client, s.Apart}
}

// selection returns the query parameters of both listing and watching.
func (o Options) selection() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"labelSelector": o.Labels, "fieldSelector": o.Fields, "shardSelector": o.Shard} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// take passes on one line of a watch, and returns its version.
func (s *Stream) take(event Event, version string, sink Sink) (string, error) {
	if err := event.Failure(); err != nil {
		return version, err
	}
	s.health.event()
	s.mu.Lock()
	defer s.mu.Unlock()
	if event.IsOfObject() && !s.concerns(&event) {
		return cmp.Or(event.Meta.ResourceVersion, version), nil
	}
	switch event.Type {
	case Added, Modified:
		event.Type = s.remember(event.Type, event.Meta)
	case Deleted:
		s.known.remove(event.Meta.Key())
		delete(s.initial, event.Meta.Key())
	case bookmark:
		if s.initial != nil && endsInitial(event.Object) {
			s.endInitial(sink)
		}
		return cmp.Or(event.Meta.ResourceVersion, version), nil
	default:
		s.Log(abi.LevelWarning, fmt.Sprintf("Ignoring an unsupported event type: %q", event.Type))
		return version, nil
	}
	sink.Event(event)
	return cmp.Or(event.Meta.ResourceVersion, version), nil
}

// remember stores what exists, and returns the type of the event: listed during a streamed
// listing.
func (s *Stream) remember(kind string, meta Meta) string {
	s.keep(meta, kind == Added && s.initial == nil)
	if s.initial == nil {
		return kind
	}
	if s.initial[meta.Key()] = struct{}{}; len(s.initial) > streamedPage {
		s.many.begin(s)
	}
	if kind == Added {
		return Listed
	}
	return kind
}

// keep adds an object to the known ones if its end matters.
func (s *Stream) keep(meta Meta, created bool) {
	if s.Keep == nil || s.Keep(meta) {
		s.known.put(meta, created)
	}
}

// endInitial ends a streamed listing.
func (s *Stream) endInitial(sink Sink) {
	s.missed(s.initial, sink)
	s.initial = nil
	s.many.over()
	s.listed(sink)
}

// Failure returns the error that the event reports; nil if it is another event.
//
// Errors: ErrExpired; others have the code and the message of the server.
func (e Event) Failure() error {
	if e.Type != failure {
		return nil
	}
	var status struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(e.Object, &status); err != nil {
		return fmt.Errorf("an error in the stream: %w", err)
	}
	if status.Code == http.StatusGone {
		return ErrExpired
	}
	return fmt.Errorf("an error in the stream: %d %s", status.Code, status.Message)
}

// ignoreEnd drops the errors of the operator's own timeouts.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
