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
)

// noted adds to a sink when a stream begins and ends a listing of many objects.
func noted(stream *Stream, seen *sink) {
	stream.Many = func() func() {
		seen.add("many")
		return func() { seen.add("over") }
	}
}

// A listing with several pages is one of many objects from its second page on, until its end or its failure. A listing with
// one page never is.
func TestListingsOfManyObjects(t *testing.T) {
	three := map[string]string{"": page("1", object("a", 1), object("b", 2)), "1": page("2", object("c", 3), object("d", 4)), "2": page("", object("e", 5))}
	for _, tt := range []struct {
		name  string
		pages map[string]string
		want  []string
	}{
		{"one page", map[string]string{"": page("", object("a", 1), object("b", 2))}, []string{":a:1", ":b:2", "listed"}},
		{"three pages", three, []string{":a:1", ":b:2", "many", ":c:3", ":d:4", ":e:5", "over", "listed"}},
		{"a broken second page", map[string]string{"": page("1", object("a", 1)), "1": "broken"}, []string{":a:1", "many", "over"}},
		{"an expired second page", map[string]string{"": page("1", object("a", 1)), "whole": page("", object("a", 1))}, []string{":a:1", "many", ":a:1", "over", "listed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream, seen := paged(&pager{pages: tt.pages}), &sink{}
				noted(stream, seen)
				ctx, cancel := context.WithCancel(t.Context())
				go func() { _ = stream.Run(ctx, seen) }() // It ends with the context.
				time.Sleep(time.Second / 4)               // before the next attempt
				cancel()
				synctest.Wait()
				if diff := cmp.Diff(tt.want, seen.seen); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A streamed listing is one of many objects when it has passed a page of them, until it ends or is cut off.
func TestStreamedListingsOfManyObjects(t *testing.T) {
	t.Parallel()
	end := line("BOOKMARK", `{"kind":"K","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`)
	for _, tt := range []struct {
		name    string
		objects int
		end     string
		want    []string
	}{
		{"a page", streamedPage, end, []string{"listed"}},
		{"more", streamedPage + 1, end, []string{"many", "over", "listed"}},
		{"cut off", streamedPage + 1, "", []string{"many", "over"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for i := range tt.objects {
				text.WriteString(line("ADDED", object(fmt.Sprint(i), 1)))
			}
			text.WriteString(tt.end)
			var marks []string
			_, seen := scriptedStream(t, Options{InitialStreaming: true}, 1, func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, text.String()) }, noted)
			for _, event := range seen.seen {
				if !strings.HasPrefix(event, ":") {
					marks = append(marks, event)
				}
			}
			if diff := cmp.Diff(tt.want, marks); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}
