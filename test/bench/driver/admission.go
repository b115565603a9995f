package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	reviewCapacity   figure = "reviews per second that the operator's CPU would allow with all processors for itself (computed)"
	askingCPU        figure = "ms of CPU of the clients per review"
	askingProcessors figure = "processors used by the clients meanwhile"
)

var reviewFigures = []figure{reviewsPerSecond, reviewP50, reviewP99, reviewCPU, reviewCapacity, askingCPU, askingProcessors, peakRSS, others}

// serverWord stands for the server of the reviews in the commands of other operators: see options.Also.
const serverWord = "SERVER"

// reviewers are the operators that are asked, at a port with a certificate, and others from the command line.
func reviewers(port int, certFile, keyFile string, others []program) []program {
	server := fmt.Sprintf(`{"type":"server","addr":"127.0.0.1","port":%d,"certfile":%q,"pkeyfile":%q}`, port, certFile, keyFile)
	hosted := func(name, module string) program {
		return program{Name: name, Needs: module, Command: []string{
			"bin/kopf", "run", "--standalone", "-n", "default", "--admission-server", server, module,
		}}
	}
	list := []program{
		hosted("kopf-go", ".cache/guests/bench-validating.wasm"),
		hosted("kopf-rust", ".cache/guests/bench-validating-rust.wasm"),
		{Name: reference, Command: []string{
			".cache/reference/bin/kopf", "run", "--standalone", "-n", "default", "test/bench/peers/kopf/admission.py",
		}},
	}
	for _, p := range others {
		p.Command = slices.Clone(p.Command)
		for i, word := range p.Command {
			if word == serverWord {
				p.Command[i] = server
			}
		}
		list = append(list, p)
	}
	return list
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
	programs := reviewers(port, certFile, keyFile, o.Also)
	programs = slices.DeleteFunc(programs, func(p program) bool {
		missing := p.missing()
		if missing != "" {
			fmt.Fprintf(o.Log, "SKIPPED: %s: there is no %s\n", p.Name, missing)
		}
		return missing != ""
	})
	c, err := o.startCluster(ctx)
	if err != nil {
		return err
	}
	defer c.stop()
	a := &admissionBench{
		options: o, cluster: c, address: fmt.Sprintf("127.0.0.1:%d", port),
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
	address     string // of the webhook server
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
		if _, err := ask(ctx, a.address, n, max(a.Objects/10, n)); err != nil { // connections, instances
			return err
		}
		resetPeak(process.pid())
		began, used, machine := time.Now(), cpuTime(process.pid()), machineTime()
		own := selfTime()
		times, err := ask(ctx, a.address, n, a.Objects)
		if err != nil {
			return err
		}
		took := time.Since(began)
		mine, clients := cpuTime(process.pid())-used, selfTime()-own
		rest := machineTime() - machine - mine - clients
		a.results = append(a.results, reviewing{p.Name, n, round, map[figure]float64{
			reviewsPerSecond: float64(len(times)) / took.Seconds(),
			reviewP50:        percentile(times, 0.5), reviewP99: percentile(times, 0.99),
			reviewCPU: mine.Seconds() * 1000 / float64(len(times)), reviewCapacity: float64(runtime.NumCPU()*len(times)) / mine.Seconds(),
			askingCPU: clients.Seconds() * 1000 / float64(len(times)), askingProcessors: clients.Seconds() / took.Seconds(),
			peakRSS: memoryOf(process.pid()).Peak, others: max(0, rest.Seconds()/took.Seconds()),
		}})
	}
	return nil
}

// selfTime is the CPU time of this program.
func selfTime() time.Duration { return processTime(os.Getpid()) }

// ready waits until the operator allows a review.
func (a *admissionBench) ready(ctx context.Context, p *process) error {
	deadline := time.After(startTimeout)
	for {
		if _, err := ask(ctx, a.address, 1, 1); err == nil {
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
