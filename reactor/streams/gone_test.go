package streams

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// deleting is a cluster with one object, which is deleted after it was listed.
type deleting struct{ stocked }

func (c deleting) RoundTrip(r *http.Request) (*http.Response, error) {
	if !r.URL.Query().Has("watch") {
		return c.stocked.RoundTrip(r)
	}
	body, end := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = end.Close() })
	go func() { // It ends with the reader, or with the request.
		_, _ = io.WriteString(end, `{"type":"DELETED","object":`+string(reactortest.NewObject(1))+"}\n")
	}()
	return reactortest.Answer(http.StatusOK, body), nil
}

// busy is a guest whose handlers of raw events end with the operator only.
type busy struct{ *noting }

func (g *busy) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	if inv.Kind != abi.KindEvent {
		return g.noting.Start(ctx, inv, body, e)
	}
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

// TestDeletionsThatWaitAreNotForgotten: a stream ends, because the definition of its resource has changed for example, while a handler
// of an object runs that was deleted meanwhile. The next stream does not know the object, so nothing else would end what it keeps.
func TestDeletionsThatWaitAreNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, deleting{1}, &busy{newNoting()})
		indices, leave := s.Generations.Present().Services.Indices, s.serve(t)
		synctest.Wait()
		if objects, pairs := s.Memories.Count(), indices.Len(); objects != 1 || pairs != 1 {
			t.Errorf("%d objects are remembered, and %d indexed at first", objects, pairs)
		}
		leave()
		if objects, pairs := s.Memories.Count(), indices.Len(); objects != 0 || pairs != 0 {
			t.Errorf("%d objects are remembered, and %d indexed after their deletion", objects, pairs)
		}
	})
}

// TestDeletionsNeedNoRoom: a deletion whose body has waited without room is handled at once, as it gives memory back.
func TestDeletionsNeedNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := accounts.New(accounts.Limits{PendingMemory: 1000})
		if err := account.Take(accounts.Pending, 1000); err != nil {
			t.Fatal(err)
		}
		s := newPart(t).Stream
		s.queues.Account = account
		handled := false
		s.queues.Process = func(ctx context.Context, it queueing.Item, q *queueing.Queue) string {
			it, known := s.admit(ctx, it, q)
			defer q.Give(&it)
			handled = known && len(it.Object) > 0
			return ""
		}
		ctx, cancel := context.WithCancel(t.Context())
		s.queues.Put(ctx, seen(watching.Deleted, 5))
		synctest.Wait()
		if !handled {
			t.Error("it waits for room")
		}
		s.queues.Drain(cancel, 0)
	})
}

// upgraded is a cluster with one object, which was deleted before it is listed in its second version.
type upgraded struct{}

func (upgraded) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/v2/") {
		return stocked(0).RoundTrip(r)
	}
	return stocked(1).RoundTrip(r)
}

// TestDeletionsBetweenTwoVersions: the stream of another version begins when the former one has ended, and knows its objects.
func TestDeletionsBetweenTwoVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := newNoting()
		s := newScene(t, upgraded{}, guest)
		indices, leave := s.Generations.Present().Services.Indices, s.serve(t)
		synctest.Wait()
		leave()
		s.dimension.Resource.Version = "v2"
		leave = s.serve(t)
		synctest.Wait()
		leave()
		if want := []string{"listed", watching.Deleted}; !slices.Equal(guest.types, want) || s.Memories.Count() != 0 || indices.Len() != 0 || len(s.Streams.left) != 0 {
			t.Errorf("the events are %v; %d objects are remembered, and %d indexed", guest.types, s.Memories.Count(), indices.Len())
		}
	})
}

// TestStreamsOfSeveralVersions: nothing is kept for a successor while another stream has the objects, and sees their ends.
func TestStreamsOfSeveralVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, stocked(1), newNoting())
		first := s.serve(t)
		synctest.Wait()
		second := *s
		second.dimension.Resource.Version = "v2"
		last := second.serve(t)
		synctest.Wait()
		first()
		if len(s.Streams.left) != 0 {
			t.Error("the objects of the first version are kept")
		}
		last()
		if len(s.Streams.left) != 1 {
			t.Errorf("those of the last version are not: %v", s.Streams.left)
		}
	})
}
