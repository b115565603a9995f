package clients

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// Requests that begin at the same time open one connection.
func TestFirstRequestsShareAConnection(t *testing.T) {
	config, asked := counted(t)
	c := New(credentials.Of(credentials.Info{Config: config}), func() Options { return Options{RequestTimeout: time.Minute} }, func(string) {})
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() {
			if _, err := c.Get(t.Context(), "/x", nil); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if connections, by := asked(); connections != 1 || len(by) != 20 {
		t.Errorf("%d connections for %d requests, want 1 for 20", connections, len(by))
	}
}

// The first write uses the connection for reads; further ones have their own.
func TestFirstWriteUsesTheOpenConnection(t *testing.T) {
	config, asked := counted(t)
	c := New(credentials.Of(credentials.Info{Config: config}), func() Options { return Options{RequestTimeout: time.Minute} }, func(string) {})
	var connections []int
	for _, request := range []func() error{
		func() error { _, err := c.Get(t.Context(), "/x", nil); return err },
		func() error { _, err := c.Patch(t.Context(), "/x", MergePatch, []byte("{}")); return err },
		func() error { _, err := c.Patch(t.Context(), "/x", MergePatch, []byte("{}")); return err },
		func() error { _, err := c.Patch(t.Context(), "/x", MergePatch, []byte("{}")); return err },
	} {
		if err := request(); err != nil {
			t.Fatal(err)
		}
		n, _ := asked()
		connections = append(connections, n)
	}
	if want := []int{1, 1, 2, 2}; !slices.Equal(connections, want) {
		t.Errorf("connections after each request: %v, want %v", connections, want)
	}
}

// held is a transport whose first request waits.
type held struct {
	first   sync.Once
	begun   chan struct{} // closed when the first request has arrived
	release chan struct{} // closed when it may fail
}

var errHeld = errors.New("no connection")

func (h *held) RoundTrip(*http.Request) (*http.Response, error) {
	first := false
	h.first.Do(func() { first = true })
	if first {
		close(h.begun)
		<-h.release
		return nil, errHeld
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// closing notes that the body of a request was closed.
type closing struct {
	*strings.Reader
	closed chan struct{}
}

func (c closing) Close() error { close(c.closed); return nil }

// Requests wait for the first one only while it opens the connection, and no longer than their
// contexts allow.
func TestRequestsDoNotWaitForFailures(t *testing.T) {
	h, opening := &held{begun: make(chan struct{}), release: make(chan struct{})}, newOpening()
	send := func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server/", nil)
		if err != nil {
			return err
		}
		rsp, err := opening.roundTrip(h, r)
		if err == nil {
			err = rsp.Body.Close()
		}
		return err
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := send(t.Context()); !errors.Is(err, errHeld) {
			t.Errorf("the first request: %v, want %v", err, errHeld)
		}
	})
	<-h.begun
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if err := send(impatient); !errors.Is(err, context.Canceled) {
		t.Errorf("a request whose context is over: %v, want %v", err, context.Canceled)
	}
	body := closing{strings.NewReader("x"), make(chan struct{})}
	r, err := http.NewRequestWithContext(impatient, http.MethodPost, "https://server/", body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opening.roundTrip(h, r); err == nil { //nolint:bodyclose // there is no response
		t.Error("a request whose context is over was sent")
	}
	<-body.closed
	running.Go(func() {
		if err := send(t.Context()); err != nil {
			t.Errorf("a request after the failure: %v", err)
		}
	})
	close(h.release)
	running.Wait()
}
