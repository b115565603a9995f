package sharing

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Subscriber is an operator that shares watches.
type Subscriber struct {
	Client *clients.Client // for listings, and for what is not shared
	Access Access          // nil: the API server is asked about the account of the client
	Log    func(level int, message string)
}

// Source returns the source of one stream. It shares the watch if the account may list and
// watch the scope, if the account's server is that of the hub, and if the hub may watch the
// scope. Otherwise the watch is a connection of the subscriber.
func (h *Hub) Source(s Subscriber, scope Scope) watching.Source {
	access := s.Access
	if access == nil {
		access = ownAccess(s.Client)
	}
	return &subscription{
		hub: h, own: watching.Connection{Client: s.Client}, server: s.Client.Server,
		right: &right{access: access, scope: scope, refused: s.Client.Refused, log: s.Log},
	}
}

// subscription is the source of one stream.
type subscription struct {
	hub    *Hub
	own    watching.Source
	server func(ctx context.Context) (string, error)
	right  *right
}

// Watch opens a shared watch if that is possible, and one of the subscriber otherwise.
func (s *subscription) Watch(ctx context.Context, r watching.Request) (watching.Lines, error) {
	if r.Initial || !s.isSameServer(ctx) || !s.right.holds(ctx) {
		return s.own.Watch(ctx, r)
	}
	k := key{r.Path, r.Options.Labels, r.Options.Fields, r.Options.Shard}
	for {
		f := s.hub.of(k)
		c, err := f.join(ctx, &r, s.right)
		switch {
		case err == nil:
			return c, nil
		case errors.Is(err, errGone):
			continue
		case errors.Is(err, errUnshared):
			return s.own.Watch(ctx, r)
		case errors.Is(err, errBehind):
			s.right.log(abi.LevelDebug, fmt.Sprintf("The shared watch of %s is ahead; catching up.", r.Path))
			lines, err := s.own.Watch(ctx, r)
			if err != nil {
				return nil, err
			}
			return &catchingUp{lines, f, r.Version}, nil
		default:
			return nil, err
		}
	}
}

// isSameServer reports whether the subscriber's objects are those of the hub.
func (s *subscription) isSameServer(ctx context.Context) bool {
	shared, err := s.hub.server(ctx)
	if err != nil {
		return false
	}
	own, err := s.server(ctx)
	return err == nil && own == shared
}

// catchingUp are the lines of a connection that ends as soon as the feed can continue.
type catchingUp struct {
	watching.Lines
	feed    *feed
	version string // of the last event
}

// Next returns the next event of the connection.
func (c *catchingUp) Next(ctx context.Context) (watching.Event, error) {
	if c.feed.reaches(c.version) {
		return watching.Event{}, io.EOF
	}
	event, err := c.Lines.Next(ctx)
	if err == nil && event.Meta.ResourceVersion != "" {
		c.version = event.Meta.ResourceVersion
	}
	return event, err
}

// reaches reports whether a subscriber can join at a version.
func (f *feed) reaches(version string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(version, f.floor)
	return f.floor == "" || err == nil && order >= 0
}
