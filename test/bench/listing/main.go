// Command listing measures the restart of an operator over many handled objects without a
// cluster: a server that answers at once lists copies of one object, compressed as the API server
// does it, and has no other events. It prints the computing time and the memory of the operator,
// whose command follows the flags:
//
//	go run ./test/bench/listing -objects 100000 bin/kopf run --standalone -n default .cache/guests/bench-go.wasm
//
// The figures of restarts on an API server are those of `make bench ONLY=restart`. There, the server takes most of the
// machine, and the listing takes as long as the server needs.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver"
)

// version is that of the listing, and of all objects.
const version = "2000000"

// namespace is where the objects are.
const namespace = "default"

// listed is the path of the objects.
const listed = "/apis/kopf.dev/v1/namespaces/" + namespace + "/kopfexamples"

// quiet is how long the operator takes no computing time when it is idle.
const quiet = 2 * time.Second

func main() {
	objects := flag.Int("objects", 100000, "the number of objects")
	variables := flag.Int("variables", 7, "entries in the spec of an object: 7 for 0.5 KB, 210 for 10 KB")
	rounds := flag.Int("rounds", 1, "how often each program is started")
	settling := flag.Duration("settling", 36*time.Second, "when the operator is idle, from its start: it returns memory 5 and 35 seconds after its start")
	flag.Parse()
	s := newServer(*objects, *variables, *settling)
	if err := s.run(*rounds, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run measures commands, which are separated by --, in turns.
func (s *server) run(rounds int, args []string) error {
	var commands [][]string
	for _, words := range strings.Split(strings.Join(args, "\x00"), "\x00--\x00") {
		commands = append(commands, strings.Split(words, "\x00"))
	}
	web := httptest.NewUnstartedServer(s)
	web.EnableHTTP2 = true
	web.StartTLS()
	defer web.Close()
	folder, err := os.MkdirTemp("", "listing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	kubeconfig := filepath.Join(folder, "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
		"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":"t"}}]}`, web.URL)
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		return err
	}
	fmt.Println("listed s\tCPU s\tpeak RSS MiB\tpeak anonymous\tidle RSS MiB\tidle anonymous\tidle PSS MiB\trequests")
	for range rounds {
		for _, command := range commands {
			if err := s.measure(kubeconfig, command); err != nil {
				return err
			}
		}
	}
	return nil
}

// server answers at once.
type server struct {
	*apiserver.Server
	objects, variables int
	settling           time.Duration
	pages              sync.Map     // by their queries
	requests           atomic.Int64 // for the objects
	writes             atomic.Int64
	watched            atomic.Pointer[time.Time] // when the objects were watched first
}

func newServer(objects, variables int, settling time.Duration) *server {
	r := apiserver.Guessed(dicts.Object{"apiVersion": "kopf.dev/v1", "kind": "KopfExample"})
	return &server{Server: apiserver.New([]apiserver.Resource{r}), objects: objects, variables: variables, settling: settling}
}

// ServeHTTP answers requests for the objects, and leaves all others to the other server.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch query := r.URL.Query(); {
	case strings.HasPrefix(r.URL.Path, listed) && r.Method != http.MethodGet:
		s.writes.Add(1)
		http.Error(w, "no", http.StatusForbidden)
	case r.URL.Path == listed && query.Get("watch") != "":
		s.watched.CompareAndSwap(nil, new(time.Now()))
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case r.URL.Path == listed:
		s.requests.Add(1)
		from, _ := strconv.Atoi(query.Get("continue"))
		limit, _ := strconv.Atoi(query.Get("limit"))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(s.page(from, limit))
	default:
		s.forward(w, r)
	}
}

func (s *server) forward(w http.ResponseWriter, r *http.Request) {
	rsp, err := s.RoundTrip(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer rsp.Body.Close()
	w.Header().Set("Content-Type", rsp.Header.Get("Content-Type"))
	w.WriteHeader(rsp.StatusCode)
	control := http.NewResponseController(w)
	for buffer := make([]byte, 1<<15); err == nil; {
		_ = control.Flush()
		var n int
		n, err = rsp.Body.Read(buffer)
		_, _ = w.Write(buffer[:n])
	}
}

// page returns a compressed page, which is made once.
func (s *server) page(from, limit int) []byte {
	key := [2]int{from, limit}
	if page, ok := s.pages.Load(key); ok {
		return page.([]byte)
	}
	to := s.objects
	if limit > 0 {
		to = min(to, from+limit)
	}
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // a valid level
	next := ""
	if to < s.objects {
		next = fmt.Sprintf(`,"continue":"%d","remainingItemCount":%d`, to, s.objects-to)
	}
	fmt.Fprintf(zip, `{"apiVersion":"kopf.dev/v1","items":[`)
	for i := from; i < to; i++ {
		if i > from {
			_, _ = io.WriteString(zip, ",")
		}
		_, _ = zip.Write(object(i, s.variables))
	}
	fmt.Fprintf(zip, `],"kind":"KopfExampleList","metadata":{"resourceVersion":%q%s}}`+"\n", version, next)
	_ = zip.Close()
	s.pages.Store(key, out.Bytes())
	return out.Bytes()
}

// object is an object that the operators of the benchmarks have handled, as the API server sends it.
func object(i, variables int) []byte {
	env := make([]string, variables)
	for i := range env {
		env[i] = fmt.Sprintf(`{"name":"VARIABLE_%03d","value":"value-%04d"}`, i, i)
	}
	spec := fmt.Sprintf(`"spec":{"env":[%s],"field":"x","image":"registry.example.com/team/app:1.2.3","replicas":3}`, strings.Join(env, ","))
	essence := fmt.Sprintf(`{%s,"metadata":{"labels":{"app":"bench"}}}`, spec)
	return fmt.Appendf(nil, `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"annotations":{"kopf.zalando.org/last-handled-configuration":%q},`+
		`"creationTimestamp":"2026-11-25T22:00:00Z","generation":1,"labels":{"app":"bench"},`+
		`"managedFields":[{"apiVersion":"kopf.dev/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:kopf.zalando.org/last-handled-configuration":{}},"f:labels":{".":{},"f:app":{}}},"f:spec":{".":{},"f:env":{},"f:field":{},"f:image":{},"f:replicas":{}},"f:status":{".":{},"f:field":{}}},"manager":"driver","operation":"Update","time":"2026-11-25T22:00:00Z"}],`+
		`"name":"obj-%05d","namespace":%q,"resourceVersion":"%d","uid":"6f1b44a1-3c55-4e21-9a0b-%012x"},%s,"status":{"field":"x"}}`,
		essence+"\n", i, namespace, 1000000+i, i, spec)
}

// measure starts a command, and prints its figures when it is idle.
func (s *server) measure(kubeconfig string, command []string) error {
	s.requests.Store(0)
	s.writes.Store(0)
	s.watched.Store(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	output, err := os.Create(filepath.Join(filepath.Dir(kubeconfig), "log"))
	if err != nil {
		return err
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	var anonymous float64
	for s.watched.Load() == nil {
		if ctx.Err() != nil {
			text, _ := os.ReadFile(output.Name())
			return errors.New("nothing watches the objects: " + string(text))
		}
		anonymous = max(anonymous, mebibytes(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid), "RssAnon:"))
		time.Sleep(10 * time.Millisecond)
	}
	seconds := s.watched.Load().Sub(start).Seconds()
	used := idle(ctx, cmd.Process.Pid)
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	peak := mebibytes(status, "VmHWM:")
	time.Sleep(time.Until(start.Add(s.settling)))
	fmt.Printf("%.2f\t%.2f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t%s\n", seconds, used.Seconds(), peak, anonymous, mebibytes(status, "VmRSS:"), mebibytes(status, "RssAnon:"),
		mebibytes(fmt.Sprintf("/proc/%d/smaps_rollup", cmd.Process.Pid), "Pss:"), s.requests.Load(), command[0])
	if n := s.writes.Load(); n > 0 {
		return fmt.Errorf("the operator has handled %d objects again", n)
	}
	return nil
}

// idle returns the computing time of a process when it is idle.
func idle(ctx context.Context, pid int) time.Duration {
	before := cpuTime(pid)
	for ctx.Err() == nil {
		time.Sleep(quiet)
		now := cpuTime(pid)
		if now-before < quiet/50 {
			return now
		}
		before = now
	}
	return before
}

// cpuTime is the computing time of a process.
func cpuTime(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // empty: it has ended
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11]) // the kernel writes numbers
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// mebibytes is the number of a line of a file in /proc.
func mebibytes(path, key string) float64 {
	text, _ := os.ReadFile(path) // empty: the process has ended
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == key {
			n, _ := strconv.ParseFloat(fields[1], 64) // the kernel writes a number
			return n / 1024
		}
	}
	return 0
}
