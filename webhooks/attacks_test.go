package webhooks

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/test/attackers"
)

func TestMain(m *testing.M) {
	attackers.Main()
	os.Exit(m.Run())
}

// counting allows everything, and counts reviews by their uids.
type counting struct {
	Operator

	mu   sync.Mutex // guards seen
	seen map[string]int
}

func (c *counting) Review(_ context.Context, in *reviews.Incoming) (*reviews.Verdict, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[in.UID]++
	return &reviews.Verdict{}, nil
}

// TestAttackersLockOutNoClient: the server has room for 200 connections, memory for 16 MiB of
// bodies, and one slot. More attackers than that hold connections, or open as many as they can.
// Meanwhile each review of a well-behaved client is answered, over a connection that it
// keeps and over fresh ones; attackers without a review never get a slot.
func TestAttackersLockOutNoClient(t *testing.T) {
	for _, kind := range attackers.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			count := 1000
			switch {
			case kind.Floods || testing.Short():
				count = 50 // more would only measure the processors of this machine
			case kind.Secured:
				count = 200
			}
			operator := &counting{seen: map[string]int{}}
			limits := Limits{Concurrent: 1, Conversions: 1, Memory: 16 << 20, Connections: conns.Limits{Total: 200}}
			handler := NewHandler(operator, limits, zerolog.Nop())
			address := serveOnce(t, &LocalServer{env: Environment{Connections: limits.Connections}}, handler)
			attack, err := attackers.Start(kind, address, "/check", count)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			for i, keep := range []bool{true, false} {
				transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: !keep} //nolint:gosec // not what is tested
				client := &http.Client{Timeout: time.Minute, Transport: transport}
				for n := range 10 {
					uid := fmt.Sprintf("good-%d-%d", i, n)
					if answer, err := reviewBy(client, address, uid); err != nil || !strings.Contains(answer, uid) {
						t.Errorf("review %s: %s, %v", uid, answer, err)
					}
				}
				transport.CloseIdleConnections()
			}
			took := time.Since(began)
			connections, err := attack.Stop()
			if err != nil {
				t.Error(err)
			}
			t.Logf("20 reviews took %v, with %d connections of attackers", took.Round(time.Millisecond), connections)
			handler.Wait()
			if len(operator.seen) != 20 {
				t.Errorf("%d reviews were handled, want the 20 good ones", len(operator.seen))
			}
		})
	}
}

// TestAttackersLockOutNoOperator: clients of a shared server announce bodies and stay silent. Reviews for any operator are answered.
func TestAttackersLockOutNoOperator(t *testing.T) {
	for _, tt := range []struct {
		name, path    string
		count, length int
	}{
		{"conversions of a neighbour", "/operators/ns/attacker/-/convert", 100, 32 << 20},
		{"reviews of a neighbour", "/operators/ns/attacker/check", 100, 8 << 20},
		{"reviews of the operator", "/operators/ns/victim/check", 400, 100},
		{"large reviews of the operator", "/operators/ns/victim/check", 600, 8 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limits := Limits{Concurrent: 4, Waiting: 8, Memory: 32 << 20, Conversion: 32 << 20}
			shared := NewShared(&LocalServer{}, Environment{})
			var all sync.WaitGroup
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(func() {
				cancel()
				all.Wait()
			})
			for _, name := range []string{"attacker", "victim"} {
				path := "/operators/ns/" + name
				all.Go(func() {
					handler := NewHandler(&counting{seen: map[string]int{}}, limits, zerolog.Nop())
					_ = shared.Part(path).Serve(ctx, handler, func(ClientConfig) {})
				})
				for shared.find(path+"/") == nil {
					time.Sleep(time.Millisecond)
				}
			}
			address := serveOnce(t, &LocalServer{env: Environment{Connections: conns.Limits{Total: 4096}}}, shared)
			insecure := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // not what is tested
			for range tt.count {
				conn, err := tls.Dial("tcp", address, insecure)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := io.WriteString(conn, requestHead(tt.path, tt.length)); err != nil {
					t.Fatal(err)
				}
			}
			client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: insecure}}
			for n := range 10 {
				uid := fmt.Sprintf("good-%d", n)
				if answer, err := reviewBy(client, address+"/operators/ns/victim", uid); err != nil || !strings.Contains(answer, uid) {
					t.Errorf("review %s: %s, %v", uid, answer, err)
				}
			}
			client.CloseIdleConnections()
		})
	}
}

func reviewBy(client *http.Client, address, uid string) (string, error) {
	text := strings.Replace(smallReview, `"uid":"u"`, fmt.Sprintf(`"uid":%q`, uid), 1)
	rsp, err := client.Post("https://"+address+"/check", "application/json", strings.NewReader(text))
	if err != nil {
		return "", err
	}
	defer rsp.Body.Close()
	answer, err := io.ReadAll(rsp.Body)
	return string(answer), err
}

// serveOnce runs a server with a generated certificate until the end of the test.
func serveOnce(t *testing.T, server *LocalServer, handler http.Handler) (address string) {
	t.Helper()
	server.Addr, server.env.Log = "127.0.0.1", zerolog.Nop()
	ctx, cancel := context.WithCancel(t.Context())
	configs, ended := make(chan ClientConfig, 1), make(chan error, 1)
	go func() { ended <- server.Serve(ctx, handler, func(c ClientConfig) { configs <- c }) }() // Waited for by the cleanup.
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server has ended with %v", err)
		}
	})
	return strings.TrimSuffix(strings.TrimPrefix(*(<-configs).URL, "https://"), "/")
}

// TestLongPathsOfSharedServers: to find the operator of a path takes no longer than the paths of operators are long. All operators
// wait for the lock meanwhile.
func TestLongPathsOfSharedServers(t *testing.T) {
	s := NewShared(&LocalServer{}, Environment{})
	for i := range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Part(fmt.Sprintf("/operators/ns/op%d", i)).Serve(ctx, nil, func(ClientConfig) {}); err != nil {
			t.Fatal(err)
		}
		s.parts[fmt.Sprintf("/operators/ns/op%d", i)] = &part{}
	}
	path := strings.Repeat("/", 30_000)
	fastest := time.Hour
	for range 10 {
		began := time.Now()
		if s.find(path) != nil {
			t.Fatal("found")
		}
		fastest = min(fastest, time.Since(began))
	}
	if fastest > time.Millisecond {
		t.Errorf("a path of %d bytes takes %v", len(path), fastest)
	}
	if s.find("/operators/ns/op9/some/id") == nil {
		t.Error("an operator is not found")
	}
}
