package watching

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// pager is a server without a network that returns pages by token, and whose watches send
// nothing. Unknown pages have expired.
type pager struct {
	pages   map[string]string // responses by token; the whole listing for a request without a limit
	queries []string          // limits and tokens
}

func (p *pager) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if query.Get("watch") != "" {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	p.queries = append(p.queries, strings.TrimSpace(query.Get("limit")+" "+query.Get("continue")))
	key := query.Get("continue")
	if query.Get("limit") == "" {
		key = "whole"
	}
	code, body := http.StatusOK, p.pages[key]
	if body == "" {
		code, body = http.StatusGone, `{"kind":"Status","code":410,"reason":"Expired"}`
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// page returns the response with some objects and the token of the next page.
func page(token string, objects ...string) string {
	return `{"metadata":{"resourceVersion":"7","continue":"` + token + `"},"items":[` + strings.Join(objects, ",") + `]}`
}

// paged makes a stream with pages of two objects.
func paged(p *pager) *Stream {
	client := clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: p}}),
		func() clients.Options { return clients.Options{RequestTimeout: time.Minute} }, func(string) {})
	options := Options{ChunkSize: 2, InactivityTimeout: 70 * time.Second, ReconnectBackoff: time.Second}
	return &Stream{Client: client, Path: "/x", Options: func() Options { return options }, Log: func(int, string) {}}
}

// A slow sink may delay the next page: neither the server nor the stream counts as dead.
func TestPagesWaitForThoseWhoTakeThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pager{pages: map[string]string{
			"": page("1", object("a", 1), object("b", 2)), "1": page("2", object("c", 3), object("d", 4)), "2": page("", object("e", 5)),
		}}
		stream, seen := paged(p), &sink{}
		stream.Pace = func(ctx context.Context) {
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = stream.Run(ctx, seen) }() // It ends with the test.
		for range 2*60 + 1 {
			time.Sleep(time.Minute)
			if h := stream.Health(); h.Stalled(time.Now()) || h.Failures > 0 {
				t.Fatalf("taken for dead: %+v", h)
			}
		}
		synctest.Wait()
		if !stream.Health().Synced {
			t.Error("it has not listed all objects")
		}
		cancel()
		synctest.Wait()
		if diff := cmp.Diff([]string{":a:1", ":b:2", ":c:3", ":d:4", ":e:5", "listed"}, seen.seen); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"2", "2 1", "2 2"}, p.queries); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// After a page of large objects, pages are smaller, so that their texts stay within a bound. They
// never have more objects than the settings say.
func TestPagesOfLargeObjects(t *testing.T) {
	large := func(name string, bytes int) string {
		return fmt.Sprintf(`{"kind":"K","metadata":{"uid":%q,"name":%q},"text":%q}`, name, name, strings.Repeat("x", bytes))
	}
	synctest.Test(t, func(t *testing.T) {
		p := &pager{pages: map[string]string{
			"": page("1", large("a", pageBytes/50), large("b", pageBytes/50)), "1": page("2", large("c", pageBytes), large("d", pageBytes)),
			"2": page("3", object("e", 1)), "3": page("4"), "4": page(""),
		}}
		stream := paged(p)
		options := stream.Options()
		options.ChunkSize = 500
		stream.Options = func() Options { return options }
		if _, err := stream.pages(t.Context(), stream.read, func() {}, func(Event) {}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"500", "49 1", "20 2", "500 3", "500 4"}, p.queries); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// A listing that expires between two pages is repeated at once. Objects that disappear
// meanwhile are reported.
func TestPagesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pager{pages: map[string]string{"": page("1", object("a", 1), object("b", 2)), "whole": page("", object("b", 2), object("c", 3))}}
		stream, seen := paged(p), &sink{}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = stream.Run(ctx, seen) }() // It ends with the test.
		time.Sleep(time.Second)
		cancel()
		synctest.Wait()
		if diff := cmp.Diff([]string{":a:1", ":b:2", ":b:2", ":c:3", "DELETED:a:1", "listed"}, seen.seen); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"2", "2 1", ""}, p.queries); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if n := stream.Health().Failures; n > 0 {
			t.Errorf("%d failures", n)
		}
	})
}

// The first page can expire only if the server is broken, which is a failure.
func TestFirstPageExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pager{}
		stream := paged(p)
		if _, err := stream.pages(t.Context(), stream.read, func() {}, func(Event) {}); err == nil {
			t.Error("no error")
		}
		if len(p.queries) != 1 {
			t.Errorf("requests: %q", p.queries)
		}
	})
}
