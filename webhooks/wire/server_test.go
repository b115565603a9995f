package wire_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/webhooks/wire"
)

func noContext(ctx context.Context, _ net.Conn) context.Context { return ctx }

// served is a server in virtual time.
type served struct {
	*wire.Server
	listed *listed
	ended  chan error
}

func serve(t *testing.T, handler http.HandlerFunc) *served {
	t.Helper()
	s := &served{wire.New(httpServer(handler)), newListed(), make(chan error, 1)}
	go func() { s.ended <- s.Serve(t.Context(), s.listed) }() // Waited for by the cleanup.
	t.Cleanup(func() {
		_ = s.Close()
		_ = s.Shutdown(context.Background()) // waits for what still computes
		if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the server has ended with %v", err)
		}
	})
	return s
}

func (s *served) dial() net.Conn {
	client, server := net.Pipe()
	s.listed.conns <- server
	return client
}

// send sends a text, and does not wait until it is read.
func send(c net.Conn, text string) {
	go func() { _, _ = io.WriteString(c, text) }() // Ends with the connection.
}

// answered is an answer.
type answered struct {
	code       int
	close      bool
	kind, text string
}

// answerIn reads an answer.
func answerIn(from *bufio.Reader) (answered, error) {
	rsp, err := http.ReadResponse(from, nil)
	if err != nil {
		return answered{}, err
	}
	defer rsp.Body.Close()
	body, err := io.ReadAll(rsp.Body)
	return answered{rsp.StatusCode, rsp.Close, rsp.Header.Get("Content-Type"), string(body)}, err
}

// answer reads an answer, which there must be.
func answer(t *testing.T, from *bufio.Reader) answered {
	t.Helper()
	got, err := answerIn(from)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func request(path string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, length, strings.Repeat("x", length))
}

// TestClientsThatGoAway end the context of their request.
func TestClientsThatGoAway(t *testing.T) {
	for _, after := range []time.Duration{0, wire.Patience / 2, time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan time.Time, 1)
			s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
				ended <- time.Now()
			})
			c := s.dial()
			send(c, request("/", 5))
			synctest.Wait()
			time.Sleep(after)
			began := time.Now()
			c.Close()
			if took := (<-ended).Sub(began); took > max(0, wire.Patience-after) {
				t.Errorf("a client that went away after %v was noticed after %v", after, took)
			}
		})
	}
}

// TestNextRequestWhileOneIsHandled: it stays whole, however long the first one takes.
func TestNextRequestWhileOneIsHandled(t *testing.T) {
	for _, takes := range []time.Duration{0, wire.Patience / 2, 10 * wire.Patience} {
		for _, pause := range []time.Duration{0, wire.Patience / 4, 5 * wire.Patience, 20 * wire.Patience} {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					time.Sleep(takes)
					_, _ = io.WriteString(w, r.URL.Path)
				})
				c := s.dial()
				defer c.Close()
				from := bufio.NewReader(c)
				var sending sync.WaitGroup
				defer sending.Wait()
				sending.Go(func() {
					for i := range 3 {
						_, _ = io.WriteString(c, request("/"+strconv.Itoa(i), 3))
						time.Sleep(pause)
					}
				})
				for i := range 3 {
					if got := answer(t, from); got.code != 200 || got.text != "/"+strconv.Itoa(i) {
						t.Errorf("request %d: %d %q", i, got.code, got.text)
					}
				}
			})
		}
	}
}

// TestAnswersBeforeTheEnd: an answer of another goroutine is whole while the handler computes on, and the connection ends after it.
func TestAnswersBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if !wire.Completes(w) {
				t.Error("answers are said to be incomplete")
			}
			written := make(chan struct{})
			go func() {
				defer close(written)
				w.Header().Set("Connection", "close")
				w.Header().Set("Content-Length", "4")
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, "late")
				wire.End(w)
			}()
			time.Sleep(time.Hour)
			<-written
		})
		c := s.dial()
		defer c.Close()
		send(c, request("/", 5))
		began, from := time.Now(), bufio.NewReader(c)
		got := answer(t, from)
		if got.code != 500 || !got.close || got.text != "late" || time.Since(began) > 0 {
			t.Errorf("%d %q, close: %t, after %v", got.code, got.text, got.close, time.Since(began))
		}
		if _, err := from.ReadByte(); !errors.Is(err, io.EOF) || time.Since(began) > 0 {
			t.Errorf("after the answer: %v after %v", err, time.Since(began))
		}
	})
}

// TestBodiesThatAreNotRead: the answer arrives, and the connection stays open only if all of the body has come.
func TestBodiesThatAreNotRead(t *testing.T) {
	for length, goesOn := range map[int]bool{5: true, 100_000: false} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) })
			c := s.dial()
			defer c.Close()
			from := bufio.NewReader(c)
			send(c, request("/", length))
			if got := answer(t, from); got.code != 404 || got.text != "no\n" || got.close == goesOn {
				t.Errorf("%d bytes: %d %q, close: %t", length, got.code, got.text, got.close)
			}
			if goesOn {
				send(c, request("/", length))
				answer(t, from)
			}
		})
	}
}

// TestAnswerForms: what a handler leaves out, and what it does wrong.
func TestAnswerForms(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		want    string // code, type, close, text; empty: no whole answer
	}{
		{"nothing", func(http.ResponseWriter, *http.Request) {}, "200 text/plain; charset=utf-8 false "},
		{"two writes", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
			_, _ = w.Write([]byte("b"))
		}, "200 text/html; charset=utf-8 false <html>b"},
		{"two codes", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.WriteHeader(500) }, "201 text/plain; charset=utf-8 false "},
		{"close", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }, "200 text/plain; charset=utf-8 true "},
		{"two writes with a length", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100003")
			_, _ = w.Write([]byte("a: "))
			_, _ = w.Write([]byte(strings.Repeat("b", 100_000)))
		}, "200 text/plain; charset=utf-8 false a: " + strings.Repeat("b", 100_000)},
		{"more than the length", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1")
			_, _ = w.Write([]byte("ab"))
		}, ""},
		{"less than the length", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "3")
			_, _ = w.Write([]byte("ab"))
		}, ""},
		{"a length that is no number", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "x")
			_, _ = w.Write([]byte("ab"))
		}, ""},
		{"a panic", func(http.ResponseWriter, *http.Request) { panic("broken") }, ""},
		{"lines in headers", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "a\r\nContent-Length: 5\r\nB: c")
		}, "200 a  Content-Length: 5  B: c false "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					tt.handler(w, r)
				})
				c := s.dial()
				defer c.Close()
				send(c, request("/", 5))
				got := ""
				if a, err := answerIn(bufio.NewReader(c)); err == nil {
					got = fmt.Sprint(a.code, " ", a.kind, " ", a.close, " ", a.text)
				}
				if got != tt.want {
					t.Errorf("%.200q, want %.200q", got, tt.want)
				}
			})
		})
	}
}

// TestShutdown: idle connections end at once, and others after their answer, which says so.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(time.Second)
			_, _ = io.WriteString(w, "done")
		})
		fresh, kept, busy := s.dial(), s.dial(), s.dial()
		send(kept, request("/", 5))
		answer(t, bufio.NewReader(kept))
		send(busy, request("/", 5))
		synctest.Wait()
		began, ended := time.Now(), make(chan error, 1)
		go func() { ended <- s.Shutdown(t.Context()) }()
		for name, c := range map[string]net.Conn{"fresh": fresh, "kept": kept} {
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(began) > 0 {
				t.Errorf("the %s connection: %v after %v", name, err, time.Since(began))
			}
		}
		if got := answer(t, bufio.NewReader(busy)); got.text != "done" || !got.close {
			t.Errorf("%q, close: %t", got.text, got.close)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestShutdownDoesNotWaitForEver: its context ends it, and Close ends the rest.
func TestShutdownDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		c := s.dial()
		send(c, request("/", 5))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}
