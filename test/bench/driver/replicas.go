package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// replicasOnly is a word of the flag -only: replicas that share the objects, of an operator.
const replicasOnly = "replicas"

// These are the scenarios of replicas.
const (
	sharedBurst  scenario = "burst, shared"
	sharedUpdate scenario = "update, shared"
	rebalancing  scenario = "rebalancing" // a member joins and leaves
)

// Names of the rows of rebalancing.
const (
	memberJoins  = "a fourth member joins"
	memberLeaves = "it leaves"
)

// mostReplicas is the greatest number of replicas whose objects per second are measured. One more joins and leaves.
const mostReplicas = 3

// These are the figures of rebalancing.
const (
	acknowledged figure = "seconds until all shares are acknowledged"
	owned        figure = "seconds until each object has an owner that works"
	moved        figure = "objects that have moved"
	movedCPU     figure = "seconds of CPU of all replicas until they are idle again"
	movedServer  figure = "seconds of CPU of the control plane until then"
)

var moveColumns = []column{
	{"acknowledged s", acknowledged, "%.2f", "acknowledged"},
	{"owned s", owned, "%.2f", "owned"},
	{"moved", moved, "%.0f", "moved"},
	{"CPU s", movedCPU, "%.2f", "CPU"},
	{"server CPU s", movedServer, "%.2f", ""},
	{"requests", allRequests, "%.0f", "requests"},
	{"others", others, "%.2f", ""},
}

// leaseName is the Lease of the replicas.
const leaseName = "bench"

func replicasText(n int) string {
	return strconv.Itoa(n) + map[bool]string{true: " replica", false: " replicas"}[n == 1]
}

// replicas measures operators whose replicas share the objects, one operator after the other.
func replicas(ctx context.Context, o options) error {
	if o.Only == replicasOnly {
		o.Only += ",kopf-rust"
	}
	operators, _, err := chosen(o)
	if err != nil {
		return err
	}
	c, err := o.startCluster(ctx)
	if err != nil {
		return err
	}
	defer c.stop()
	var all []result
	for index, p := range operators {
		g := &group{session: &session{bench: &bench{options: o, cluster: c}, program: p, index: index}}
		g.program.Command = append(slices.Clone(p.Command), "--replicas", "shared", "--lease", "default/"+leaseName)
		err := g.alone(ctx, g.measureAll)
		r := report{results: g.results, out: o.Out}
		for n := range mostReplicas {
			r.operators = append(r.operators, program{Name: replicasText(n + 1)})
		}
		r.operators = append(r.operators, program{Name: memberJoins}, program{Name: memberLeaves})
		if len(g.results) > 0 { // some are better than none
			r.print()
		}
		if all = append(all, g.results...); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return save(filepath.Join(o.Folder, "replicas.json"), all)
}

// group are the replicas of one operator.
type group struct {
	*session
	addresses []string // of their metrics: those of process and more
}

func (g *group) measureAll(ctx context.Context) error {
	for g.round = range g.Rounds {
		for i := range mostReplicas {
			n := i + 1
			if g.round%2 == 1 { // the number goes up and down
				n = mostReplicas - i
			}
			if err := g.loaded(ctx, n); err != nil {
				return err
			}
		}
	}
	return g.rebalance(ctx)
}

// loaded measures a number of replicas with a burst of objects, and their changes.
func (g *group) loaded(ctx context.Context, n int) error {
	fmt.Fprintf(g.Log, "round %d of %d: %s\n", g.round+1, g.Rounds, replicasText(n))
	if err := g.resize(ctx, n); err != nil {
		return err
	}
	api := g.cluster.api
	if err := api.clean(ctx); err != nil {
		return err
	}
	g.row = replicasText(n)
	created := func(i int) error { return api.create(ctx, objectName(i), string(sharedBurst)) }
	if err := g.measure(ctx, phase{scenario: sharedBurst, objects: g.Objects, change: created}); err != nil {
		return err
	}
	changed := func(i int) error { return api.change(ctx, objectName(i), string(sharedUpdate)) }
	return g.measure(ctx, phase{scenario: sharedUpdate, objects: g.Objects, change: changed})
}

// resize starts or stops replicas, until their number is n and they share the objects.
func (g *group) resize(ctx context.Context, n int) error {
	for len(g.addresses) < n {
		if err := g.join(ctx); err != nil {
			return err
		}
	}
	for len(g.addresses) > n {
		if err := g.leave().stop(); err != nil {
			return err
		}
	}
	_, err := g.settled(ctx, n)
	return err
}

// join starts a replica.
func (g *group) join(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	one, err := g.spawn("--listen", address)
	switch {
	case err != nil:
		return err
	case g.process == nil:
		g.process = one
	default:
		g.more = append(g.more, one)
	}
	g.addresses = append(g.addresses, address)
	return nil
}

// leave removes the replica that was started last from the group. The caller stops it.
func (g *group) leave() *process {
	last := len(g.more) - 1
	one := g.more[last]
	g.more, g.addresses = g.more[:last], g.addresses[:last+1]
	return one
}

// These are times of waiting for replicas.
const (
	settleTimeout  = 2 * time.Minute // the first start waits twice for the duration of a lease
	settleInterval = 20 * time.Millisecond
)

// until waits until a condition holds, and returns when it did.
func (g *group) until(ctx context.Context, holds func() (bool, error)) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		done, err := holds()
		if done || err != nil {
			return time.Now(), err
		}
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("the replicas do not settle, see %s: %w", g.process.log, ctx.Err())
		case <-g.process.exited:
			return time.Time{}, fmt.Errorf("%w, see %s", errExited, g.process.log)
		case <-time.After(settleInterval):
		}
	}
}

// settled waits until so many members share the objects, and all of them have acknowledged that.
func (g *group) settled(ctx context.Context, members int) (time.Time, error) {
	return g.until(ctx, func() (bool, error) {
		var list struct {
			Items []struct {
				Metadata struct {
					Name        string            `json:"name"`
					Annotations map[string]string `json:"annotations"`
				} `json:"metadata"`
			} `json:"items"`
		}
		err := g.cluster.api.do(ctx, http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/default/leases?fieldSelector=metadata.name="+leaseName, "", nil, &list)
		if err != nil || len(list.Items) == 0 {
			return false, err
		}
		var note struct {
			Members   []string `json:"members"`
			Unsettled []string `json:"unsettled"`
		}
		text := list.Items[0].Metadata.Annotations["replicas.kopf.dev/note"]
		if err := json.Unmarshal([]byte(cmp.Or(text, "{}")), &note); err != nil {
			return false, err
		}
		return len(note.Members) == members && len(note.Unsettled) == 0, nil
	})
}

// held waits until the replicas hold so many objects.
func (g *group) held(ctx context.Context, objects int) (time.Time, error) {
	return g.until(ctx, func() (bool, error) {
		sum, err := sumOf(ctx, g.addresses, "kopf_replica_objects")
		return sum == objects, err
	})
}

// sumOf adds a metric of some replicas, with all values of its labels.
func sumOf(ctx context.Context, addresses []string, metric string) (sum int, err error) {
	for _, address := range addresses {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		text, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name, _, _ = strings.Cut(name, "{"); name == metric {
				n, err := strconv.ParseFloat(value, 64)
				if err != nil {
					return 0, err
				}
				sum += int(n)
			}
		}
	}
	return sum, nil
}

// rebalance lets a member join and leave in each round, with many objects that were handled before.
func (g *group) rebalance(ctx context.Context) error {
	if g.Restarts == 0 {
		return nil
	}
	api := g.cluster.api
	if err := g.resize(ctx, mostReplicas); err != nil {
		return err
	}
	if err := api.clean(ctx); err != nil {
		return err
	}
	g.watcher.expect(1, waiting)
	if err := api.create(ctx, waiting, waiting); err != nil {
		return err
	}
	if _, err := g.watcher.wait(ctx, startTimeout, g.process.exited); err != nil {
		return err
	}
	if err := g.quiet(ctx); err != nil { // what is being written must not be lost
		return err
	}
	if err := api.multiply(ctx, waiting, g.Restarts-1); err != nil {
		return err
	}
	if _, err := g.held(ctx, g.Restarts); err != nil {
		return err
	}
	for g.round = range g.Rounds {
		fmt.Fprintf(g.Log, "round %d of %d: a member joins and leaves, %d objects\n", g.round+1, g.Rounds, g.Restarts)
		if err := g.move(ctx, memberJoins, mostReplicas+1, func() (wait func() time.Duration, err error) {
			return func() time.Duration { return 0 }, g.join(ctx)
		}); err != nil {
			return err
		}
		if err := g.move(ctx, memberLeaves, mostReplicas, func() (wait func() time.Duration, err error) {
			one := g.leave()
			return func() time.Duration {
				<-one.exited
				return one.cmd.ProcessState.UserTime() + one.cmd.ProcessState.SystemTime()
			}, one.cmd.Process.Signal(syscall.SIGTERM)
		}); err != nil {
			return err
		}
	}
	return nil
}

// move measures what follows a change of the number of members. The function that change returns waits until the process has ended
// that leaves, and returns its CPU time.
func (g *group) move(ctx context.Context, name string, members int, change func() (wait func() time.Duration, err error)) error {
	if err := g.quiet(ctx); err != nil {
		return err
	}
	stay := g.addresses[:mostReplicas]
	before, err := sumOf(ctx, stay, "kopf_replica_moved_objects_total")
	if err != nil {
		return err
	}
	position, err := g.cluster.audit.position()
	if err != nil {
		return err
	}
	usedBefore, begun := g.meter(), time.Now()
	wait, err := change()
	if err != nil {
		return err
	}
	settled, err := g.settled(ctx, members)
	if err != nil {
		return err
	}
	ended := wait()
	all, err := g.held(ctx, g.Restarts)
	if err != nil {
		return err
	}
	if err := g.quiet(ctx); err != nil {
		return err
	}
	used, took := g.meter(), time.Since(begun)
	used.operator += ended
	used = used.minus(usedBefore)
	after, err := sumOf(ctx, stay, "kopf_replica_moved_objects_total")
	if err != nil {
		return err
	}
	user, _ := user(g.index)
	requests, _, err := g.cluster.audit.since(position, user)
	if err != nil {
		return err
	}
	g.row = name
	g.record(result{Scenario: rebalancing, Objects: g.Restarts, Requests: requests, Figures: map[figure]float64{
		acknowledged: settled.Sub(begun).Seconds(),
		owned:        all.Sub(begun).Seconds(),
		moved:        float64(after - before),
		movedCPU:     used.operator.Seconds(),
		movedServer:  used.server.Seconds(),
		allRequests:  float64(requests.total()),
		others:       used.others() / took.Seconds(),
	}})
	return nil
}
