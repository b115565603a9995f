package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// These are the times of the measurement.
const (
	settling = 15 * time.Second // instances are released after 10 s
	quiet    = 6 * time.Second  // for which the process is idle before it is measured: then it returns memory
	idling   = 20 * time.Second
	waking   = 30 * time.Millisecond // between two objects
	patience = time.Minute
)

// maxWoken is how many operators get objects.
const maxWoken = 100

// figures are what is measured of one process.
type figures struct {
	Guest, Case, Watching string
	Count                 int
	PSS, RSS              float64 // MiB, idle
	Heap, Images          float64 // MiB
	Goroutines, Sockets   int
	Watches               int     // at the API server
	CPU                   float64 // per cent of one processor, idle
	Start                 float64 // seconds, all of them
	More                  float64 // ms, one more
	Cold, Warm            []float64
	After                 float64 // PSS in MiB after the wake-ups, idle again
}

// withDefaults completes a configuration for requests outside of the API groups.
func withDefaults(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	return config
}

func run(ctx context.Context, o options) error {
	fmt.Fprintln(os.Stderr, "starting a cluster...")
	c, err := startCluster(ctx, o.cluster)
	if err != nil {
		return err
	}
	r := &results{}
	for round := range o.rounds {
		for _, which := range o.cases {
			for _, guest := range o.guests {
				if err := c.round(ctx, o, r, figures{Guest: guest, Case: which}, round+1); err != nil {
					return errors.Join(err, c.Stop())
				}
			}
		}
	}
	if len(r.Idle) > 0 {
		report(os.Stdout, r.Idle)
	}
	reportFairness(os.Stdout, r.Fair)
	reportSpread(os.Stdout, r.Spread)
	reportCrowd(os.Stdout, r.Crowd)
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(o.folder, "hosting.json"), text, 0o644)
	}
	return errors.Join(err, c.Stop())
}

// results are those of all rounds.
type results struct {
	Idle   []figures
	Fair   []fairness
	Spread []spreading
	Crowd  []crowding
}

// round measures a case with a guest once.
func (c *cluster) round(ctx context.Context, o options, r *results, f figures, number int) error {
	switch f.Case {
	case caseFair:
		two, err := c.fair(ctx, o, f.Guest)
		r.Fair = append(r.Fair, two...)
		return err
	case caseSpread:
		two, err := c.spread(ctx, o, f.Guest)
		r.Spread = append(r.Spread, two...)
		return err
	case caseCrowd:
		lines, err := c.crowd(ctx, o)
		r.Crowd = append(r.Crowd, lines...)
		return err
	}
	for _, f.Count = range o.counts {
		began := time.Now()
		if err := c.provide(ctx, f.Case, f.Count+1); err != nil {
			return err
		}
		progress("namespaces and resources", began)
		for _, f.Watching = range o.shares {
			fmt.Fprintf(os.Stderr, "round %d: %d operators in %s, case %s, %s watches\n", number, f.Count, f.Guest, f.Case, f.Watching)
			measured, err := c.measure(ctx, o, f)
			if err != nil {
				return err
			}
			r.Idle = append(r.Idle, measured)
		}
	}
	return nil
}

// progress prints how long a stage took: most of the time of a run is that of the cluster, and of the waits for an idle process.
func progress(stage string, began time.Time) {
	fmt.Fprintf(os.Stderr, "  %s: %.1f s\n", stage, time.Since(began).Seconds())
}

// process is the measured process.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// commands run operators that are no modules.
var commands = map[string][]string{
	"reference":          {".cache/reference/bin/kopf", "run", "--standalone", "--quiet", "-n", "NAMESPACE", "test/bench/peers/kopf/operator.py"},
	"kube-rs":            {".cache/bench/kube-rs", "NAMESPACE"},
	"controller-runtime": {".cache/bench/controller-runtime", "NAMESPACE"},
}

func (c *cluster) launch(o options, f figures) (*process, error) {
	module := fmt.Sprintf(".cache/guests/bench-%s.wasm", f.Guest)
	if f.Case == caseCrowd {
		module = ".cache/guests/bench-filtered-go.wasm"
	}
	text, err := json.Marshal(setup{
		Kubeconfig: c.Kubeconfig, Module: module, Spinner: ".cache/guests/hostile-go.wasm", Cache: filepath.Join(o.folder, "hosting-code"),
		Case: f.Case, Count: f.Count, Shared: f.Watching == "shared", Command: commands[f.Guest],
	})
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(program, hostArgument, string(text))}
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewScanner(stdout)
	return p, p.cmd.Start()
}

// ask sends a command, unless it is empty, and reads the answer.
func (p *process) ask(command string) (s sample, err error) {
	if command != "" {
		if _, err := fmt.Fprintln(p.stdin, command); err != nil {
			return s, err
		}
	}
	if !p.lines.Scan() {
		return s, errors.Join(errors.New("the operators have ended"), p.lines.Err())
	}
	return s, json.Unmarshal(p.lines.Bytes(), &s)
}

func (c *cluster) measure(ctx context.Context, o options, f figures) (figures, error) {
	before, err := c.watches(ctx)
	if err != nil {
		return f, err
	}
	p, err := c.launch(o, f)
	if err != nil {
		return f, err
	}
	err = c.fill(ctx, o, p, &f, before)
	_ = p.stdin.Close()
	return f, errors.Join(err, p.cmd.Wait())
}

// settle waits until processes are idle: many operators open their watches for a while after all are ready.
func settle(pids []int) {
	const idle = 0.02 // of one processor
	for range int(patience / quiet) {
		used := processTime(pids)
		time.Sleep(quiet)
		if processTime(pids)-used < time.Duration(idle*float64(quiet)) {
			return
		}
	}
}

// fill measures one process in the order of the fields.
func (c *cluster) fill(ctx context.Context, o options, p *process, f *figures, before int) error {
	began := time.Now()
	s, err := p.ask("")
	if err != nil {
		return err
	}
	f.Start = s.Seconds
	progress("start", began)
	time.Sleep(settling)
	pids := s.Children
	if len(pids) == 0 {
		pids = []int{p.cmd.Process.Pid}
	}
	settle(pids)
	f.PSS, f.RSS = mebibytes(pids, "smaps_rollup", "Pss:"), mebibytes(pids, "status", "VmRSS:")
	used := processTime(pids)
	time.Sleep(idling)
	f.CPU = 100 * float64(processTime(pids)-used) / float64(idling)
	if s, err = p.ask("figures"); err != nil {
		return err
	}
	f.Goroutines, f.Heap, f.Images, f.Sockets = s.Goroutines, s.HeapMiB, s.ImagesMiB, s.Sockets
	after, err := c.watches(ctx)
	if err != nil {
		return err
	}
	f.Watches = after - before
	began = time.Now()
	for _, times := range []*[]float64{&f.Cold, &f.Warm} {
		if *times, err = c.wake(ctx, f); err != nil {
			return err
		}
	}
	progress("events", began)
	if s, err = p.ask("more"); err != nil {
		return err
	}
	f.More = 1000 * s.Seconds
	time.Sleep(settling)
	f.After = mebibytes(append(pids, s.Children[min(len(pids), len(s.Children)):]...), "smaps_rollup", "Pss:")
	_, err = p.ask("profile " + filepath.Join(o.folder, fmt.Sprintf("hosting-%s-%s-%d-%s", f.Guest, f.Case, f.Count, f.Watching)))
	return err
}

// wake creates an object for each operator, and returns the times until each is handled.
func (c *cluster) wake(ctx context.Context, f *figures) (times []float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i := range min(f.Count, maxWoken) {
		took, err := c.wakeOne(ctx, f.Case, i)
		if err != nil {
			return nil, err
		}
		times = append(times, took)
		time.Sleep(waking)
	}
	slices.Sort(times)
	return times, nil
}

// wakeOne returns the time from the response of the creation to the event of the handled
// object, in ms. The object is deleted afterwards.
func (c *cluster) wakeOne(ctx context.Context, which string, i int) (float64, error) {
	objects := c.objects.Resource(resource(which, i)).Namespace(namespaceOf(which, i))
	name := fmt.Sprintf("obj-%d", time.Now().UnixNano())
	watch, err := objects.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return 0, err
	}
	defer watch.Stop()
	object := map[string]any{
		"apiVersion": "kopf.dev/v1", "kind": kindOf(pluralOf(which, i)), "metadata": map[string]any{"name": name}, "spec": map[string]any{"field": "value"},
	}
	if _, err := objects.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	begun := time.Now()
	for {
		select {
		case event, ok := <-watch.ResultChan():
			if !ok {
				return 0, errors.New("the watch of the bench has ended")
			}
			if u, ok := event.Object.(*unstructured.Unstructured); ok {
				if field, _, _ := unstructured.NestedString(u.Object, "status", "field"); field != "" {
					took := time.Since(begun)
					return float64(took) / float64(time.Millisecond), objects.Delete(ctx, name, metav1.DeleteOptions{})
				}
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("operator %d does not handle its object: %w", i, ctx.Err())
		}
	}
}

// mebibytes is the sum of the numbers of a line of a file in /proc; 0 if there is none.
func mebibytes(pids []int, file, key string) (sum float64) {
	for _, pid := range pids {
		sum += mebibytesOf(pid, file, key)
	}
	return sum
}

func mebibytesOf(pid int, file, key string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == key {
			n, _ := strconv.ParseFloat(fields[1], 64) // kB; not a number: no such kernel
			return n / 1024
		}
	}
	return 0
}

// processTime is the computing time of processes.
func processTime(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		var used unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|2), &used); err == nil { // otherwise it has just ended
			sum += time.Duration(used.Nano())
		}
	}
	return sum
}
