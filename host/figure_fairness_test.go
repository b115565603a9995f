//go:build figures

package host

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// The stream of events of the figures of fairness, and the operator that computes next to it.
const (
	streamEvents  = 1000
	streamEvery   = 2 * time.Millisecond
	streamWorkers = 20
	spinningTasks = 16
)

// serverVariable makes this program the server of the figures of fairness.
const serverVariable = "KOPF_FIGURES_SERVER"

// fairnessFigures: events come over a connection, and each is answered by a request after a call of a guest, as in an operator.
// The other side is a process of its own, and measures. Next to it, another operator computes in sixteen handlers.
func fairnessFigures(t *testing.T, f *figures, guests map[string][]byte) {
	for range *figureRounds {
		eventTimes(t, f, guests["rust"], "alone")
		m := loaded(t, "spinner", asm.Guest(loop()).Encode(), Options{ComputeLimit: time.Hour, StopGrace: time.Nanosecond})
		spinningRate(t, f, m, "no one", func() { time.Sleep(time.Second) })
		spinningRate(t, f, m, "an operator with events", func() { eventTimes(t, f, guests["rust"], "next to 16 handlers that compute") })
	}
}

// spinningRate lets sixteen handlers compute meanwhile.
func spinningRate(t *testing.T, f *figures, m *Module, neighbour string, meanwhile func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	before, began := m.Usage(), time.Now()
	for range spinningTasks {
		group.Go(func() {
			if _, _, err := m.Start(ctx, invoke(""), nil, &testEnv{}); !errors.Is(err, context.Canceled) {
				t.Errorf("it ended: %v", err)
			}
		})
	}
	meanwhile()
	cancel()
	group.Wait()
	f.add("processors of 16 handlers that compute, next to "+neighbour, "", 0, (m.Usage().Computing-before.Computing).Seconds()/time.Since(began).Seconds())
	f.add("their fuel in each second, next to "+neighbour, "10^6", 0, float64(m.Usage().Fuel-before.Fuel)/1e6/time.Since(began).Seconds())
}

// eventTimes handles the events of a stream.
func eventTimes(t *testing.T, f *figures, guest []byte, when string) {
	t.Helper()
	m := loaded(t, "neighbour", guest, Options{})
	address := startServer(t)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	stream, err := client.Get(address + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	events := make(chan string, streamEvents)
	var workers sync.WaitGroup
	for range streamWorkers {
		workers.Go(func() {
			for id := range events {
				if err := errors.Join(created(t.Context(), m, object(1000)), report(client, address, id)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
		id, _, _ := strings.Cut(lines.Text(), " ")
		events <- id
	}
	close(events)
	workers.Wait()
	times := measuredTimes(t, client, address)
	f.add("from an event to its answer, p50, "+when, "ms", 0, micros(quantile(times, 0.5))/1e3)
	f.add("from an event to its answer, p99, "+when, "ms", 0, micros(quantile(times, 0.99))/1e3)
}

// report tells the server that an event is handled.
func report(client *http.Client, address, id string) error {
	answer, err := client.Post(address+"/handled/"+id, "", strings.NewReader(strings.Repeat("x", 1000)))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// measuredTimes asks the server for its times.
func measuredTimes(t *testing.T, client *http.Client, address string) (times []time.Duration) {
	t.Helper()
	answer, err := client.Get(address + "/times")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&times); err != nil {
		t.Fatal(err)
	}
	return times
}

// startServer starts the other side, and returns its address.
func startServer(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServerOfFigures$", "-test.v")
	cmd.Env = append(os.Environ(), serverVariable+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "address "); ok {
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return address
		}
	}
	t.Fatal("the server of the figures does not start")
	return ""
}

// TestServerOfFigures is the other side of fairnessFigures, in a process of its own, until standard input ends.
func TestServerOfFigures(t *testing.T) {
	if os.Getenv(serverVariable) == "" {
		t.Skip("only for the figures of fairness")
	}
	s := httptest.NewUnstartedServer((&eventServer{sent: make([]time.Time, streamEvents)}).handler())
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.CloseClientConnections()
	fmt.Println("address", s.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// eventServer sends events, and measures when they are handled.
type eventServer struct {
	mu   sync.Mutex // guards the fields below
	sent []time.Time
	took []time.Duration
}

func (s *eventServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("POST /handled/{id}", s.handled)
	mux.HandleFunc("GET /times", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(s.took)
	})
	return mux
}

// events sends all events, one after the other.
func (s *eventServer) events(w http.ResponseWriter, _ *http.Request) {
	next := time.Now()
	for i := range streamEvents {
		next = next.Add(streamEvery)
		time.Sleep(time.Until(next))
		s.mu.Lock()
		s.sent[i] = time.Now()
		s.mu.Unlock()
		fmt.Fprintf(w, "%d %s\n", i, strings.Repeat("x", 1000))
		_ = http.NewResponseController(w).Flush()
	}
}

// handled notes the time of an event.
func (s *eventServer) handled(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 0 || id >= streamEvents {
		http.Error(w, "no such event", http.StatusNotFound)
		return
	}
	s.mu.Lock()
	s.took = append(s.took, now.Sub(s.sent[id]))
	s.mu.Unlock()
	fmt.Fprintln(w, strings.Repeat("x", 1000))
}

// TestFiguresOfFairness prints only these figures.
func TestFiguresOfFairness(t *testing.T) {
	f := &figures{}
	fairnessFigures(t, f, map[string][]byte{"rust": benchGuest(t, "rust")})
	fmt.Printf("%s, %d processors, medians of %d rounds\n\n%s", runtime.Version(), runtime.GOMAXPROCS(0), *figureRounds, f)
}
