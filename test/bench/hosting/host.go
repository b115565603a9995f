package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
)

// hostArgument makes this program the measured process.
const hostArgument = "host"

// setup is what the measured process is to run.
type setup struct {
	Kubeconfig string
	Module     string // the file of the module
	Spinner    string // the file of the module of the second operator in the case fair
	Cache      string // the folder of compiled code
	Case       string
	Count      int
	Shared     bool

	// Command runs one operator in a process of its own; NAMESPACE in it is that of the operator.
	// Empty: the operators are modules in the measured process.
	Command []string
}

// sample is what the measured process says about itself.
type sample struct {
	Seconds    float64 // since its start, or for one more operator
	Goroutines int
	HeapMiB    float64
	Sockets    int
	Shared     int     // watches of the hub
	Computing  float64 // seconds of the last operator
	Calls      uint64  // of handlers of the last operator
	ImagesMiB  float64 // memory of files without a name, which PSS has only in part
	Children   []int   // the processes of operators
}

// hosting is the measured process.
type hosting struct {
	setup
	base    []byte
	spinner []byte
	last    atomic.Pointer[operator.Operator] // that was started last
	watches *operator.Watches
	running sync.WaitGroup
	pids    []int // of operators in processes of their own

	computing *os.File // the profile that is being written
}

// runHost runs operators until standard input ends, and answers a line of JSON for each
// line of it: "figures", "more", "profile FILE", or "compute FILE".
func runHost(ctx context.Context, text string) error {
	begun := time.Now()
	h := &hosting{}
	if err := json.Unmarshal([]byte(text), &h.setup); err != nil {
		return err
	}
	var err error
	if len(h.Command) == 0 {
		if h.base, err = os.ReadFile(h.Module); err != nil {
			return err
		}
	}
	if h.Case == caseFair {
		if h.spinner, err = os.ReadFile(h.Spinner); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer h.running.Wait()
	defer cancel()
	log := zerolog.New(os.Stderr).Level(zerolog.WarnLevel)
	if h.Shared {
		if h.watches, err = operator.ShareWatches(ctx, operator.WatchesOptions{Login: operator.KubeconfigAt(h.Kubeconfig), Log: log}); err != nil {
			return err
		}
	}
	if err := h.startAll(ctx, log); err != nil {
		return err
	}
	h.say(time.Since(begun))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		began := time.Now()
		switch command, path, _ := strings.Cut(lines.Text(), " "); command {
		case "more":
			channel, err := h.start(ctx, h.Count, log)
			if err != nil {
				return err
			}
			<-channel
		case "profile":
			if err := profile(path); err != nil {
				return err
			}
		case "compute":
			if err := h.compute(path); err != nil {
				return err
			}
		}
		h.say(time.Since(began))
	}
	return lines.Err()
}

// startAll starts the operators, some at once, as a host does, and waits until all are ready. The last one is started last.
func (h *hosting) startAll(ctx context.Context, log zerolog.Logger) error {
	slots := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	if len(h.Command) > 0 {
		slots = make(chan struct{}, 1)
	}
	ready, errs := make([]<-chan struct{}, h.Count), make([]error, h.Count)
	start := func(i int) {
		ready[i], errs[i] = h.start(ctx, i, log)
	}
	var loading sync.WaitGroup
	for i := range h.Count - 1 {
		slots <- struct{}{}
		loading.Go(func() {
			start(i)
			<-slots
		})
	}
	loading.Wait()
	start(h.Count - 1)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, channel := range ready {
		<-channel
	}
	return nil
}

// compute writes a profile of the computing to a file, until the next call with the same file.
func (h *hosting) compute(path string) error {
	if h.computing != nil {
		pprof.StopCPUProfile()
		return h.computing.Close()
	}
	var err error
	if h.computing, err = os.Create(path + ".cpu"); err != nil {
		return err
	}
	return pprof.StartCPUProfile(h.computing)
}

// profile writes the heap and the goroutines to files.
func profile(path string) error {
	for _, name := range []string{"heap", "goroutine"} {
		f, err := os.Create(path + "." + name)
		if err != nil {
			return err
		}
		runtime.GC()
		if err := pprof.Lookup(name).WriteTo(f, 0); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// spawn runs one operator in a process of its own. It cannot be seen to be ready.
func (h *hosting) spawn(ctx context.Context, i int) (ready <-chan struct{}, err error) {
	args := slices.Clone(h.Command)
	for n := range args {
		args[n] = strings.ReplaceAll(args[n], "NAMESPACE", namespaceOf(h.Case, i))
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+h.Kubeconfig)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h.pids = append(h.pids, cmd.Process.Pid)
	h.running.Go(func() {
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "operator", i, err)
			os.Exit(1)
		}
	})
	closed := make(chan struct{})
	close(closed)
	return closed, nil
}

// start loads and runs one operator.
func (h *hosting) start(ctx context.Context, i int, log zerolog.Logger) (ready <-chan struct{}, err error) {
	if len(h.Command) > 0 {
		return h.spawn(ctx, i)
	}
	o := operator.Options{
		Modules: []string{fmt.Sprint(i)}, Name: fmt.Sprint(i), Namespaces: h.namespacesOf(i),
		Open: func(context.Context, string) (string, []byte, error) {
			if i > 0 && h.spinner != nil {
				return "spinner.wasm", h.spinner, nil
			}
			return "module.wasm", moduleOf(h.Case, h.base, i), nil
		},
		Login: operator.KubeconfigAt(h.Kubeconfig), Host: host.Options{CacheDir: h.Cache, Config: h.configOf(i)}, Log: log, Watches: h.watches,
	}
	o.Peering.Standalone = new(true)
	if h.Case == caseCrowd { // a thousand questions in a minute are no cost of events
		o.Access = func(context.Context, operator.Scope) (bool, error) { return true, nil }
	}
	op, err := operator.New(ctx, o)
	if err != nil {
		return nil, err
	}
	h.last.Store(op)
	h.running.Go(func() {
		if err := op.Run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "operator", i, err)
			os.Exit(1)
		}
	})
	return op.Ready(), nil
}

// say prints a sample.
func (h *hosting) say(took time.Duration) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s := sample{Children: h.pids, ImagesMiB: images(), Seconds: took.Seconds(), Goroutines: runtime.NumGoroutine(), HeapMiB: float64(memory.HeapAlloc) / (1 << 20), Sockets: sockets()}
	if h.watches != nil {
		s.Shared = h.watches.Watches()
	}
	if op := h.last.Load(); op != nil { // processes of their own have none
		usage := op.Usage()
		for _, module := range usage.Modules {
			s.Computing += module.Computing.Seconds()
		}
		for _, calls := range usage.Handlers {
			for _, ended := range calls.Ended {
				s.Calls += ended
			}
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // numbers only
	}
	fmt.Println(string(text))
}

// images is the memory of the files without a name: the snapshots of modules.
func images() float64 {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	var sum float64
	for _, entry := range entries {
		path := "/proc/self/fd/" + entry.Name()
		var stat unix.Stat_t
		if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, "/memfd:") && unix.Stat(path, &stat) == nil {
			sum += float64(stat.Blocks) * 512 / (1 << 20)
		}
	}
	return sum
}

// sockets counts the sockets of this process.
func sockets() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	n := 0
	for _, entry := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}
