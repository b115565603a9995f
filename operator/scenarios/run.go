package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/spelling"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/answers"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/crossings"
	"github.com/kopf-wasm/kopf/operator/documents"
	"github.com/kopf-wasm/kopf/operator/simulation"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/ids"
)

// Runner runs scenarios.
type Runner struct {
	Source  operator.Source
	Modules []string       // replace those of files; nil: those of files
	Guests  []guests.Guest // of Go programs, in addition to the modules
	Config  map[string]string
	Host    host.Options
	Limit   time.Duration  // real time of one scenario
	Log     zerolog.Logger // of the operators
}

// Outcome is the end of a scenario.
type Outcome struct {
	File, Name string
	Line       int
	Mismatches []Mismatch
	Error      string        // why the scenario could not be run to its end; empty: it was
	Stuck      bool          // the scenario still computes: no other one may run in this process
	Calls      int           // of handlers
	Simulated  time.Duration // on the clock of the scenario
	Took       time.Duration // in real time
}

// Failed reports whether the scenario has failed.
func (o *Outcome) Failed() bool { return o.Error != "" || len(o.Mismatches) > 0 }

var errNoModule = errors.New("no module: name it in the file (module: operator.wasm), or with --module")

// Check loads the modules of a file once, so that mistakes in them are found, and returns the
// ids of the handlers.
func (x *Runner) Check(ctx context.Context, f *File) ([]string, error) {
	names := x.modules(f)
	if len(names)+len(x.Guests) == 0 {
		return nil, fmt.Errorf("%s: %w", f.Path, errNoModule)
	}
	modules, err := operator.LoadFrom(ctx, x.Source, names, x.options(f, nil))
	if err != nil {
		return nil, err
	}
	of := slices.Clone(x.Guests)
	for _, module := range modules {
		of = append(of, operator.GuestOf(module))
		_ = module.Close(ctx) // it is loaded again for each scenario
	}
	var all []string
	for _, guest := range of {
		for _, h := range guest.Registration().Handlers {
			all = append(all, ids.Registered(h))
		}
	}
	return all, nil
}

func (x *Runner) modules(f *File) []string {
	if len(x.Modules) > 0 {
		return x.Modules
	}
	return f.Modules
}

// options are those of the modules. The clock is that of computing; nil: the real one.
func (x *Runner) options(f *File, clock func() time.Time) host.Options {
	o := x.Host
	o.Clock, o.Config = clock, map[string]string{}
	maps.Copy(o.Config, f.Config)
	maps.Copy(o.Config, x.Config)
	return o
}

// Run runs one scenario to its end, or for the limit: the end of the context has no effect. The handlers are those that Check has returned.
func (x *Runner) Run(ctx context.Context, f *File, s *Scenario, handlers []string) *Outcome {
	out := &Outcome{File: f.Path, Name: s.Name, Line: s.node.Line()}
	began := time.Now()
	r := &run{Runner: x, file: f, scenario: s, handlers: handlers, record: newRecord(), outcome: &Outcome{}}
	r.place.Store(new(s.node.Place()))
	inside := context.WithoutCancel(ctx) // no channel may be used both inside and outside of a bubble
	err := simulation.Run(s.Begin, x.Limit, func(t *simulation.Time) { r.whole(inside, t) })
	switch {
	case errors.Is(err, simulation.ErrLeft) && r.finished.Load():
		// The scenario no longer needs these goroutines.
	case errors.Is(err, simulation.ErrLimit) || errors.Is(err, simulation.ErrEnd):
		// The goroutines of the scenario still run, so its outcome must not be read.
		out.Error = fmt.Sprintf("%s: %v", *r.place.Load(), err)
		if errors.Is(err, simulation.ErrLimit) {
			out.Error += ": handlers compute for long, or something waits for what never happens (--timeout TIME waits longer)"
		}
		out.Stuck, out.Took = true, time.Since(began)
		return out
	case err != nil:
		out.Error = err.Error()
	}
	out.Mismatches, out.Simulated, out.Calls = r.outcome.Mismatches, r.outcome.Simulated, r.record.total
	if r.outcome.Error != "" {
		out.Error = r.outcome.Error
	}
	out.Took = time.Since(began)
	return out
}

// run is one run of a scenario.
type run struct {
	*Runner
	file     *File
	scenario *Scenario
	handlers []string
	record   *record
	outcome  *Outcome
	finished atomic.Bool
	place    atomic.Pointer[string] // of the present step

	ctx    context.Context // of the scenario
	time   *simulation.Time
	server *apiserver.Server
	doors  *doors
	border *crossings.Border
	stop   context.CancelFunc // of the operator
	ended  chan error         // of the operator
}

// whole runs the scenario on the simulated clock.
func (r *run) whole(ctx context.Context, t *simulation.Time) {
	defer r.finished.Store(true)
	began := time.Now()
	r.ctx, r.time, r.server = ctx, t, r.file.server()
	r.doors = newDoors()
	r.server.Seen, r.server.Webhooks, r.server.Client = r.record.write, r.doors.registered, account
	given, err := answers.Parse(r.scenario.answers)
	if err == nil {
		r.border = &crossings.Border{See: r.record.see, Answer: answering(given)}
		err = r.prepare()
	}
	if err == nil {
		err = r.start(ctx)
	}
	if err == nil {
		err = r.steps()
		err = errors.Join(err, r.end())
	}
	r.outcome.Simulated = time.Since(began)
	if err != nil {
		r.outcome.Error = err.Error()
	}
}

// answering answers requests to the cluster by the simulated one, and refuses those to other
// servers, unless they have an answer.
func answering(given *answers.Answers) func(call *abi.Call) *abi.Answer {
	return func(call *abi.Call) *abi.Answer {
		if found := given.Find(call); found != nil || call.Target == abi.TargetKubernetes {
			return found
		}
		return answers.Refusal(call, "answers of the scenario")
	}
}

func (r *run) prepare() error {
	for _, object := range r.scenario.objects {
		if err := r.server.Apply(r.ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// start starts the operator, and waits until it serves.
func (r *run) start(ctx context.Context) error {
	ready := make(chan struct{})
	o := operator.Options{
		Modules: r.modules(r.file), Guests: r.Guests, Open: r.Source.Open, Engine: r.Source.Engine, Python: r.Source.Python, Host: r.options(r.file, r.time.Real),
		Namespaces: r.file.Namespaces, Settings: r.file.settings.Clone(), Calls: operator.Calls{Grants: operator.Grants{Kubernetes: r.file.Allow}}, GrantWanted: true, AllowOverlap: true, Simulated: true,
		Identity: "kopf-test", Admission: r.doors.admission(), Wrap: func(g guests.Guest) guests.Guest { return loggedIn{r.border.Guest(g)} }, Login: r.login, Log: r.Log, Ready: func() { close(ready) },
	}
	op, err := operator.New(ctx, o)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	r.stop = stop
	r.ended = make(chan error, 1)
	go func() { r.ended <- op.Run(ctx) }() // Waited for by end.
	select {
	case err := <-r.ended:
		return fmt.Errorf("the operator has not started: %w", err)
	case <-ready:
	}
	r.settle()
	return nil
}

// account is the user that the operator is for the API server.
var account = dicts.Object{
	"username": "system:serviceaccount:default:kopf-test",
	"groups":   []any{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"},
}

func (r *run) login(context.Context) (*credentials.Info, error) {
	return &credentials.Info{Config: &rest.Config{Host: "http://cluster.test", Transport: http.RoundTripper(r.server), QPS: -1}, DefaultNamespace: "default"}, nil
}

// steps does all steps, until one of them fails.
func (r *run) steps() error {
	for _, s := range r.scenario.steps {
		r.place.Store(new(s.node.Place()))
		misses := s.do(r)
		r.outcome.Mismatches = append(r.outcome.Mismatches, misses...)
		if len(misses) > 0 {
			return nil
		}
		select {
		case err := <-r.ended:
			r.ended <- err
			if err == nil {
				err = errors.New("without an error")
			}
			return s.node.Errorf("the operator has ended in this step: %w", err)
		default:
		}
	}
	return nil
}

// end stops the operator.
func (r *run) end() error {
	r.stop()
	if err := <-r.ended; err != nil {
		return fmt.Errorf("the end of the operator: %w", err)
	}
	return nil
}

// restart stops the operator and starts it again.
func (r *run) restart() error {
	if err := r.end(); err != nil {
		return err
	}
	r.server.Disconnect()
	return r.start(r.ctx)
}

// advance moves the clock.
func (r *run) advance(d time.Duration) {
	time.Sleep(d)
	r.time.Settle()
}

// settle gives the operator the time to handle a step.
func (r *run) settle() { r.advance(r.scenario.Wait) }

// problem is a step that cannot be done.
func (r *run) problem(n documents.Node, err error) []Mismatch {
	if err == nil {
		return nil
	}
	return mismatch(n, err.Error())
}

// missing says that an object does not exist, and what else does.
func (r *run) missing(n documents.Node, ref apiserver.Reference) []Mismatch {
	if _, ok := r.server.Find(ref.Kind); !ok {
		return mismatch(n, fmt.Sprintf("unknown kind %q%s", ref.Kind, spelling.Meant(ref.Kind, r.server.Kinds())))
	}
	lines := []string{"- exists", "+ absent"}
	for _, name := range r.server.Names(ref.Kind) {
		lines = append(lines, "  there is "+ref.Kind+"/"+name)
	}
	return mismatch(n, ref.Kind+"/"+ref.Name, lines...)
}

// knows reports whether the modules have a handler, or it is a sub-handler of one.
func (r *run) knows(handler string) bool {
	return slices.Contains(r.handlers, handler) || slices.ContainsFunc(r.handlers, func(id string) bool {
		return strings.HasPrefix(handler, id+"/")
	})
}

func (r *run) unknown(n documents.Node, handler string) []Mismatch {
	return mismatch(n, fmt.Sprintf("unknown handler %q%s", handler, spelling.Meant(handler, r.handlers)))
}
