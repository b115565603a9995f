package watching

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kopf-wasm/kopf/reactor/clients"
)

// maxBackoff bounds the pauses of a stream that cannot be opened at all.
const maxBackoff = 30 * time.Second

// Options are the settings of a stream.
type Options struct {
	ServerTimeout     time.Duration
	ClientTimeout     time.Duration
	ReconnectBackoff  time.Duration
	InactivityTimeout time.Duration
	ChunkSize         int
}

// Sink takes what a stream delivers, on the goroutine of the stream.
type Sink interface {
	// Event takes one event. It must not block for long: nothing is read meanwhile.
	Event(Event)

	// Listed says that the initial listing is complete.
	Listed()
}

// Stream is the stream of one resource in one scope.
type Stream struct {
	Client     *clients.Client
	Path       string // of the listing: /apis/group/version/namespaces/ns/plural
	APIVersion string // of the objects
	Kind       string // of the objects
	Options    func() Options
	Log        func(level int, message string)

	// known are the objects that exist as far as the stream knows: those that are
	// not in the next listing have been deleted while nobody watched. They outlive
	// the pauses between two runs.
	known map[string]Meta
}

// errExpired ends a watch whose version is too old: a new listing is needed.
var errExpired = errors.New("the version of the watch has expired")

// Run lists and watches until the context ends, whatever happens to the
// connections in between. It returns only the context's error.
func (s *Stream) Run(ctx context.Context, sink Sink) error {
	if s.known == nil {
		s.known = map[string]Meta{}
	}
	backoff := time.Duration(0)
	for ctx.Err() == nil {
		began := time.Now()
		err := s.once(ctx, sink)
		if err == nil || errors.Is(err, errExpired) || time.Since(began) > maxBackoff {
			backoff = 0
		}
		if err != nil && !errors.Is(err, errExpired) && ctx.Err() == nil {
			s.Log(30, fmt.Sprintf("The watch-stream of %s has failed, and will be restarted: %v", s.Path, err))
			backoff = min(max(2*backoff, time.Second/2), maxBackoff)
		}
		wait(ctx, max(backoff, s.Options().ReconnectBackoff))
	}
	return ctx.Err()
}

// once lists once, then watches until the version expires or something fails.
func (s *Stream) once(ctx context.Context, sink Sink) error {
	version, err := s.list(ctx, sink)
	if err != nil {
		return err
	}
	sink.Listed()
	for ctx.Err() == nil {
		if version, err = s.watch(ctx, version, sink); err != nil {
			return err
		}
		wait(ctx, s.Options().ReconnectBackoff)
	}
	return nil
}

// list hands on all objects, page by page, and notices those that are gone.
func (s *Stream) list(ctx context.Context, sink Sink) (version string, err error) {
	seen := map[string]Meta{}
	query := url.Values{}
	if size := s.Options().ChunkSize; size > 0 {
		query.Set("limit", strconv.Itoa(size))
	}
	for {
		meta, err := s.page(ctx, query, func(event Event) {
			seen[event.Meta.Key()] = event.Meta
			sink.Event(event)
		})
		if err != nil {
			return "", err
		}
		if meta.Continue == "" {
			version = meta.ResourceVersion
			break
		}
		query.Set("continue", meta.Continue)
	}
	for key, meta := range s.known {
		if _, ok := seen[key]; !ok {
			sink.Event(s.vanished(meta))
		}
	}
	s.known = seen
	return version, nil
}

func (s *Stream) page(ctx context.Context, query url.Values, take func(Event)) (listMeta, error) {
	body, err := s.Client.Stream(ctx, s.Path, query)
	if err != nil {
		return listMeta{}, err
	}
	defer body.Close()
	return decodeList(body, func(object []byte) error {
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
}

// vanished makes the event that was missed: identity only, since the last body
// is not kept.
func (s *Stream) vanished(meta Meta) Event {
	object, _ := json.Marshal(map[string]any{ // strings only: cannot fail
		"apiVersion": s.APIVersion,
		"kind":       s.Kind,
		"metadata": map[string]any{
			"name": meta.Name, "namespace": meta.Namespace, "uid": meta.UID, "resourceVersion": meta.ResourceVersion,
		},
	})
	return Event{Type: Deleted, Object: object, Meta: meta}
}

// watch hands on events until the connection ends, and returns the version to go
// on from. Ends of connections are normal; an expired version is an error.
func (s *Stream) watch(ctx context.Context, version string, sink Sink) (string, error) {
	options := s.Options()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if options.ClientTimeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, options.ClientTimeout)
		defer cancel()
	}
	inactivity := time.AfterFunc(options.InactivityTimeout, func() {
		s.Log(10, fmt.Sprintf("Watch-stream for %s is inactive, reconnecting.", s.Path))
		cancel()
	})
	defer inactivity.Stop()

	body, err := s.Client.Stream(ctx, s.Path, s.query(options, version))
	if code, ok := clients.Code(err); ok && code == http.StatusGone {
		return version, errExpired
	}
	if err != nil {
		return version, ignoreEnd(ctx, err)
	}
	defer body.Close()
	reader := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return version, nil // closed by the server, by us, or lost, maybe in a line: watch on from here
		}
		inactivity.Reset(options.InactivityTimeout)
		if len(line) == 1 {
			continue
		}
		if version, err = s.take(line, version, sink); err != nil {
			return version, err
		}
	}
}

func (s *Stream) query(options Options, version string) url.Values {
	query := url.Values{
		"watch":               {"true"},
		"allowWatchBookmarks": {"true"},
		"resourceVersion":     {version},
	}
	if options.ServerTimeout > 0 {
		query.Set("timeoutSeconds", strconv.Itoa(int(options.ServerTimeout/time.Second)))
	}
	return query
}

// take hands on one line of a watch, and returns its version.
func (s *Stream) take(line []byte, version string, sink Sink) (string, error) {
	event, err := parseLine(line)
	if err != nil {
		return version, err
	}
	switch event.Type {
	case Added, Modified:
		s.known[event.Meta.Key()] = event.Meta
	case Deleted:
		delete(s.known, event.Meta.Key())
	case bookmark:
		return event.Meta.ResourceVersion, nil
	case failure:
		return version, watchError(event.Object)
	default:
		s.Log(30, fmt.Sprintf("Ignoring an unsupported event type: %q", event.Type))
		return version, nil
	}
	sink.Event(event)
	return event.Meta.ResourceVersion, nil
}

func watchError(object []byte) error {
	var status struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(object, &status); err != nil {
		return fmt.Errorf("an error in the stream: %w", err)
	}
	if status.Code == http.StatusGone {
		return errExpired
	}
	return fmt.Errorf("an error in the stream: %d %s", status.Code, status.Message)
}

// ignoreEnd drops the errors of our own timeouts.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
