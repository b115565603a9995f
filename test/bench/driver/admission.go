package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// admissionOnly as the flag -only measures reviews, and nothing else.
const admissionOnly = "admission"

// askers are how many of them send reviews at once.
var askers = []int{1, 16, 64}

// reviewing is how one operator answered so many clients in one round.
type reviewing struct {
	operator string
	clients  int
	round    int
	figures  map[figure]float64
}

// The figures of reviews.
const (
	reviewsPerSecond figure = "reviews per second"
	reviewP50        figure = "ms until the answer, median"
	reviewP99        figure = "ms until the answer, 99th percentile"
	reviewCPU        figure = "ms of CPU of the operator per review"
)

var reviewFigures = []figure{reviewsPerSecond, reviewP50, reviewP99, reviewCPU, peakRSS, others}

// reviewers are the operators that are asked, at a port with a certificate.
func reviewers(port int, certFile, keyFile string) []program {
	server := fmt.Sprintf(`{"type":"server","addr":"127.0.0.1","port":%d,"certfile":%q,"pkeyfile":%q}`, port, certFile, keyFile)
	hosted := func(name, module string) program {
		return program{Name: name, Needs: module, Command: []string{
			"bin/kopf", "run", "--standalone", "-n", "default", "--admission-server", server, module,
		}}
	}
	return []program{
		hosted("kopf-go", ".cache/guests/bench-validating.wasm"),
		hosted("kopf-rust", ".cache/guests/bench-validating-rust.wasm"),
		{Name: reference, Command: []string{
			".cache/reference/bin/kopf", "run", "--standalone", "-n", "default", "test/bench/peers/kopf/admission.py",
		}},
	}
}

// admissions measures all operators in interleaved rounds, and prints all values.
func admissions(ctx context.Context, o options) error {
	folder, err := filepath.Abs(o.Folder)
	if err != nil {
		return err
	}
	certFile, keyFile, err := writeCertificate(folder)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	programs := reviewers(port, certFile, keyFile)
	programs = slices.DeleteFunc(programs, func(p program) bool {
		missing := p.missing()
		if missing != "" {
			fmt.Fprintf(o.Log, "SKIPPED: %s: there is no %s\n", p.Name, missing)
		}
		return missing != ""
	})
	fmt.Fprintln(o.Log, "starting a cluster...")
	c, err := startCluster(ctx, o.Cluster)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := c.api.define(ctx); err != nil {
		return err
	}
	a := &admissionBench{
		options: o, cluster: c, url: fmt.Sprintf("https://127.0.0.1:%d/check?timeout=30s", port),
		environment: []string{fmt.Sprintf("BENCH_PORT=%d", port), "BENCH_CERT=" + certFile, "BENCH_KEY=" + keyFile},
	}
	for round := range o.Rounds {
		for turn := range programs {
			index := (turn + round) % len(programs)
			if err := a.turn(ctx, round, index, programs[index]); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", programs[index].Name, err), a.print(programs))
			}
		}
	}
	return a.print(programs)
}

type admissionBench struct {
	options
	cluster     *cluster
	url         string
	environment []string
	results     []reviewing
}

// turn measures one operator with all numbers of clients.
func (a *admissionBench) turn(ctx context.Context, round, index int, p program) (err error) {
	fmt.Fprintf(a.Log, "round %d of %d: reviews by %s\n", round+1, a.Rounds, p.Name)
	kubeconfig, err := a.cluster.kubeconfigFor(index)
	if err != nil {
		return err
	}
	log := filepath.Join(a.Folder, "logs", fmt.Sprintf("admission-%s-%d.log", p.Name, round+1))
	process, err := launch(launching{p.Command, append([]string{"KUBECONFIG=" + kubeconfig}, a.environment...), log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.stop()) }()
	if err := a.ready(ctx, process); err != nil {
		return fmt.Errorf("%w, see %s", err, log)
	}
	for _, n := range askers {
		if _, err := a.load(ctx, n, max(a.Objects/10, n)); err != nil { // connections, instances
			return err
		}
		resetPeak(process.pid())
		began, used, machine := time.Now(), cpuTime(process.pid()), machineTime()
		own := selfTime()
		times, err := a.load(ctx, n, a.Objects)
		if err != nil {
			return err
		}
		took := time.Since(began)
		mine := cpuTime(process.pid()) - used
		rest := machineTime() - machine - mine - (selfTime() - own)
		a.results = append(a.results, reviewing{p.Name, n, round, map[figure]float64{
			reviewsPerSecond: float64(len(times)) / took.Seconds(),
			reviewP50:        percentile(times, 0.5), reviewP99: percentile(times, 0.99),
			reviewCPU: mine.Seconds() * 1000 / float64(len(times)),
			peakRSS:   memoryOf(process.pid()).Peak, others: max(0, rest.Seconds()/took.Seconds()),
		}})
	}
	return nil
}

// selfTime is the CPU time of this program.
func selfTime() time.Duration { return processTime(os.Getpid()) }

const reviewText = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",` +
	`"kind":{"group":"kopf.dev","version":"v1","kind":"KopfExample"},"resource":{"group":"kopf.dev","version":"v1","resource":"kopfexamples"},` +
	`"name":"x","namespace":"default","operation":"CREATE","userInfo":{"username":"admin","groups":["system:masters"]},` +
	`"object":{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"x","namespace":"default","uid":"u1"},"spec":{"field":"value","fill":"%s"}},` +
	`"oldObject":null,"dryRun":false}}`

var reviewBody = fmt.Appendf(nil, reviewText, strings.Repeat("x", 300))

// ready waits until the operator allows a review.
func (a *admissionBench) ready(ctx context.Context, p *process) error {
	deadline := time.After(startTimeout)
	for {
		if _, err := a.load(ctx, 1, 1); err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return errExited
		case <-deadline:
			return errors.New("it does not answer")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// load sends reviews by so many clients with a connection each, and returns the
// sorted times until their answers, in ms.
func (a *admissionBench) load(ctx context.Context, n, reviews int) ([]float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var left atomic.Int64
	left.Store(int64(reviews))
	times := make([][]float64, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // its own certificate
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				began := time.Now()
				if err := a.ask(ctx, client); err != nil {
					cancel(err)
					return
				}
				times[i] = append(times[i], time.Since(began).Seconds()*1000)
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return slices.Sorted(slices.Values(slices.Concat(times...))), nil
}

func (a *admissionBench) ask(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(reviewBody))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	rsp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(rsp.Body)
	if err == nil && !bytes.Contains(bytes.ReplaceAll(text, []byte(" "), nil), []byte(`"allowed":true`)) {
		err = fmt.Errorf("the review is not allowed: %s", text)
	}
	return err
}

// print prints the medians, what they are compared with the reference, and all values.
func (a *admissionBench) print(programs []program) error {
	fmt.Fprintf(a.Out, "Reviews over TLS, %d of them in each of %d rounds\n", a.Objects, a.Rounds)
	for _, p := range programs {
		fmt.Fprintf(a.Out, "\n%s: %s\n", p.Name, p.line(false))
		for _, n := range askers {
			for _, f := range reviewFigures {
				values := a.values(p.Name, n, f)
				if len(values) == 0 {
					continue
				}
				ratio := ""
				if base := median(a.values(reference, n, f)); p.Name != reference && base > 0 {
					ratio = fmt.Sprintf(" (%.2f of the reference's)", median(values)/base)
				}
				fmt.Fprintf(a.Out, "  %2d clients: %10.3f %s%s; all: %.3f\n", n, median(values), f, ratio, values)
			}
		}
	}
	return nil
}

func (a *admissionBench) values(operator string, n int, f figure) []float64 {
	var values []float64
	for _, r := range a.results {
		if r.operator == operator && r.clients == n {
			values = append(values, r.figures[f])
		}
	}
	return values
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
