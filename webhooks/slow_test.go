package webhooks

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/reviews"
)

// allowing allows everything, with a warning of a given length.
type allowing struct {
	Operator
	warning string
}

func (a allowing) Review(context.Context, *reviews.Incoming) (*reviews.Verdict, error) {
	return &reviews.Verdict{Warnings: []string{a.warning}, Failures: []*abi.Error{}}, nil
}

const smallReview = `{"request":{"uid":"u","resource":{},"userInfo":{},"object":{}}}`

// headersOf a request with a body of a length.
func requestHead(path string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, length)
}

// trickle sends a text byte by byte, one a second, until the connection ends.
func trickle(conn net.Conn, text string) {
	for i := range len(text) {
		if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// TestSlowClients: clients that send slowly or do not read are disconnected in bounded time, and
// others are served again: here, one at a time.
func TestSlowClients(t *testing.T) {
	body := smallReview + strings.Repeat(" ", 1000)
	for _, tt := range []struct {
		name   string
		send   func(conn net.Conn)
		answer string        // the first line; empty: none
		within time.Duration // the connection is closed
	}{
		{"nothing at all", func(net.Conn) {}, "", headerTimeout},
		{"half a head", func(c net.Conn) { _, _ = io.WriteString(c, "POST / HT") }, "HTTP/1.1 400 Bad Request", headerTimeout},
		{"a head byte by byte", func(c net.Conn) { trickle(c, requestHead("/check", 10)) }, "HTTP/1.1 400 Bad Request", headerTimeout},
		{"no body", func(c net.Conn) { _, _ = io.WriteString(c, requestHead("/check", 10)) }, "HTTP/1.1 408 Request Timeout", 30 * time.Second},
		{"half a body", func(c net.Conn) { _, _ = io.WriteString(c, requestHead("/check", 1000)+body[:500]) }, "HTTP/1.1 408 Request Timeout", 30 * time.Second},
		{"a body byte by byte", func(c net.Conn) {
			_, _ = io.WriteString(c, requestHead("/check", len(body)))
			trickle(c, body)
		}, "HTTP/1.1 408 Request Timeout", 30 * time.Second},
		{"a body that is too late for its sender", func(c net.Conn) {
			_, _ = io.WriteString(c, requestHead("/check?timeout=2s", len(body)))
			trickle(c, body)
		}, "HTTP/1.1 408 Request Timeout", 2 * time.Second},
		{"a conversion byte by byte", func(c net.Conn) {
			_, _ = io.WriteString(c, requestHead("/-/convert", len(body)))
			trickle(c, body)
		}, "HTTP/1.1 408 Request Timeout", 30 * time.Second},
		{"a part of a body, then the end", func(c net.Conn) {
			_, _ = io.WriteString(c, requestHead("/check", 1000)+body[:500])
			_ = c.Close()
		}, "", time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler := NewHandler(allowing{}, Limits{Concurrent: 1, Conversions: 1}, zerolog.Nop())
				server, _ := servePipes(t, &LocalServer{}, nil, handler)
				slow := server.dial()
				var sending sync.WaitGroup
				sending.Go(func() { tt.send(slow) }) // Ends with the connection.
				began := time.Now()
				text, err := io.ReadAll(slow)
				if err != nil && !errors.Is(err, io.ErrClosedPipe) {
					t.Fatal(err)
				}
				if line, _, _ := strings.Cut(string(text), "\r\n"); line != tt.answer {
					t.Errorf("answered %q, want %q", line, tt.answer)
				}
				if took := time.Since(began); took > tt.within+time.Second {
					t.Errorf("it was connected for %v", took)
				}
				slow.Close()
				sending.Wait()
				for _, path := range []string{"/check", "/-/convert"} {
					if line := askOver(t, server.dial(), path); !strings.HasPrefix(line, "HTTP/1.1 200") && !strings.HasPrefix(line, "HTTP/1.1 400") {
						t.Errorf("the next request is answered %q", line)
					}
				}
			})
		})
	}
}

// askOver sends a small review, and returns the first line of the answer.
func askOver(t *testing.T, conn net.Conn, path string) string {
	t.Helper()
	defer conn.Close()
	if _, err := io.WriteString(conn, requestHead(path, len(smallReview))+smallReview); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// late ends so long after the time of the review is over.
type late struct {
	Operator
	by time.Duration
}

func (l late) Review(ctx context.Context, _ *reviews.Incoming) (*reviews.Verdict, error) {
	<-ctx.Done()
	time.Sleep(l.by)
	return nil, ctx.Err()
}

// TestLateAnswers are whole before their sender gives up, and say why they are late: also
// over a connection whose deadlines are those of the review, and before the handlers end.
func TestLateAnswers(t *testing.T) {
	for query, want := range map[string]time.Duration{"?timeout=1s": 900 * time.Millisecond, "?timeout=30s": 29 * time.Second, "": 29 * time.Second} {
		for _, by := range []time.Duration{0, 10 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				handler := NewHandler(late{by: by}, Limits{}, zerolog.Nop())
				defer handler.Wait()
				server, _ := servePipes(t, &LocalServer{}, nil, handler)
				conn := server.dial()
				defer conn.Close()
				if _, err := io.WriteString(conn, requestHead("/check"+query, len(smallReview))+smallReview); err != nil {
					t.Fatal(err)
				}
				began, from := time.Now(), bufio.NewReader(conn)
				rsp, err := http.ReadResponse(from, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer rsp.Body.Close()
				text, err := io.ReadAll(rsp.Body)
				if took := time.Since(began); err != nil || took != want || !strings.Contains(string(text), "the handlers took longer than") {
					t.Errorf("with %q, the answer after %v is %q, and then %v", query, took, text, err)
				}
				if _, err := from.ReadByte(); !errors.Is(err, io.EOF) || time.Since(began) != want { // it does not count while the handler computes on
					t.Errorf("with %q, the connection ends after %v with %v", query, time.Since(began), err)
				}
			})
		}
	}
}

// TestClientsThatDoNotRead hold their slot for a bounded time, too.
func TestClientsThatDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := NewHandler(allowing{warning: strings.Repeat("x", 1<<20)}, Limits{Concurrent: 1}, zerolog.Nop())
		server, _ := servePipes(t, &LocalServer{}, nil, handler)
		deaf := server.dial()
		defer deaf.Close()
		if _, err := io.WriteString(deaf, requestHead("/check", len(smallReview))+smallReview); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it is being answered
		time.Sleep(writeTimeout)
		if line := askOver(t, server.dial(), "/check"); !strings.HasPrefix(line, "HTTP/1.1 200") {
			t.Errorf("the next request is answered %q", line)
		}
	})
}

// TestIdleConnections: idle connections are closed, too.
func TestIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := servePipes(t, &LocalServer{}, nil, http.NotFoundHandler())
		conn := server.dial()
		defer conn.Close()
		if _, err := io.WriteString(conn, requestHead("/", 0)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := io.ReadAll(conn); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < idleTimeout || took > idleTimeout+time.Second {
			t.Errorf("closed after %v, want %v", took, idleTimeout)
		}
	})
}
