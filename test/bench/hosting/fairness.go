package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// The burst that the neighbour of a spinning operator handles.
const (
	burstObjects = 300
	burstClients = 4
	spinObjects  = 16 // of the spinning operator, each with a handler that does not end
	spinning     = 3 * time.Second
)

// Namespaces of the two operators.
const neighbourNamespace, spinnerNamespace = "neighbour", "spinner"

// fairness are the figures of one burst.
type fairness struct {
	Guest     string
	Spinning  bool
	PerSecond float64   // objects
	Latencies []float64 // ms, sorted: from the request of a creation to the event of the handled object
	Computing float64   // seconds of the spinning operator in each second of the burst
}

// fair measures the bursts of a neighbour that is alone, and of one next to an operator that spins in all of its handlers,
// in turns.
func (c *cluster) fair(ctx context.Context, o options, guest string) ([]fairness, error) {
	if err := c.create(ctx, definitions, "", definition(plural)); err != nil {
		return nil, err
	}
	for _, name := range []string{neighbourNamespace, spinnerNamespace} {
		if err := c.create(ctx, namespaces, "", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}); err != nil {
			return nil, err
		}
		if err := c.served(ctx, resource(caseFair, 0), name); err != nil {
			return nil, err
		}
	}
	var all []fairness
	for i := range 2 {
		spins := (i+c.turns)%2 == 1
		fmt.Fprintf(os.Stderr, "fairness: a neighbour in %s, next to a spinning operator: %v\n", guest, spins)
		f, err := c.burst(ctx, o, guest, spins)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	c.turns++ // the next round begins with the other one
	return all, nil
}

// burst measures one process.
func (c *cluster) burst(ctx context.Context, o options, guest string, spins bool) (f fairness, err error) {
	p, err := c.launch(o, figures{Guest: guest, Case: caseFair, Watching: "shared", Count: 2})
	if err != nil {
		return f, err
	}
	defer func() {
		_ = p.stdin.Close()
		err = errors.Join(err, p.cmd.Wait(), c.clear(ctx, neighbourNamespace, spinnerNamespace))
	}()
	if _, err := p.ask(""); err != nil {
		return f, err
	}
	if spins {
		for i := range spinObjects {
			if err := c.object(ctx, spinnerNamespace, fmt.Sprintf("spin-%d", i), map[string]any{"do": "spin"}); err != nil {
				return f, err
			}
		}
	}
	time.Sleep(spinning)
	before, err := p.ask("figures")
	if err != nil {
		return f, err
	}
	f = fairness{Guest: guest, Spinning: spins}
	began := time.Now()
	if f.Latencies, err = c.handled(ctx, load{burstObjects, burstClients, []string{neighbourNamespace}}); err != nil {
		return f, err
	}
	took := time.Since(began).Seconds()
	after, err := p.ask("figures")
	f.PerSecond, f.Computing = burstObjects/took, (after.Computing-before.Computing)/took
	return f, err
}

// object creates an object of the two operators.
func (c *cluster) object(ctx context.Context, namespace, name string, spec map[string]any) error {
	object := map[string]any{"apiVersion": "kopf.dev/v1", "kind": kindOf(plural), "metadata": map[string]any{"name": name}, "spec": spec}
	_, err := c.objects.Resource(resource(caseFair, 0)).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	return err
}

// clear deletes the objects of namespaces.
func (c *cluster) clear(ctx context.Context, names ...string) error {
	var errs []error
	for _, namespace := range names {
		errs = append(errs, c.objects.Resource(resource(caseFair, 0)).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	return errors.Join(errs...)
}

// load is a burst of objects.
type load struct {
	objects, clients int
	namespaces       []string // the objects go into each of them in turn
}

// watch shows the objects of the burst.
func (l load) watch(ctx context.Context, c *cluster) (watch.Interface, error) {
	namespace := ""
	if len(l.namespaces) == 1 {
		namespace = l.namespaces[0]
	}
	return c.objects.Resource(resource(caseFair, 0)).Namespace(namespace).Watch(ctx, metav1.ListOptions{})
}

// handled creates the objects of a burst, and returns the time until each is handled, in ms.
func (c *cluster) handled(ctx context.Context, l load) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	events, err := l.watch(ctx, c)
	if err != nil {
		return nil, err
	}
	defer events.Stop()
	var mu sync.Mutex // guards the map
	created := map[string]time.Time{}
	errs := make(chan error, l.clients)
	for client := range l.clients {
		go func() { // Waited for below.
			var err error
			for i := client; i < l.objects && err == nil; i += l.clients {
				name := fmt.Sprintf("obj-%d", i)
				mu.Lock()
				created[name] = time.Now()
				mu.Unlock()
				err = c.object(ctx, l.namespaces[i%len(l.namespaces)], name, map[string]any{"field": "value"})
			}
			errs <- err
		}()
	}
	took, err := collect(ctx, events, l.objects, func(name string) time.Time {
		mu.Lock()
		defer mu.Unlock()
		return created[name]
	})
	for range l.clients {
		err = errors.Join(err, <-errs)
	}
	return took, err
}

// collect waits for the events of all handled objects.
func collect(ctx context.Context, events watch.Interface, objects int, created func(name string) time.Time) ([]float64, error) {
	took := map[string]float64{}
	for len(took) < objects {
		select {
		case event, ok := <-events.ResultChan():
			if !ok {
				return nil, errors.New("the watch of the bench has ended")
			}
			u, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			_, known := took[u.GetName()]
			if field, _, _ := unstructured.NestedString(u.Object, "status", "field"); field != "" && !known {
				took[u.GetName()] = float64(time.Since(created(u.GetName()))) / float64(time.Millisecond)
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d objects are handled: %w", len(took), objects, ctx.Err())
		}
	}
	times := make([]float64, 0, len(took))
	for _, t := range took {
		times = append(times, t)
	}
	slices.Sort(times)
	return times, nil
}

// reportFairness prints the medians of all rounds.
func reportFairness(w io.Writer, all []fairness) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\nA burst of %d objects for one operator. The other operator of the process has %d handlers that compute without an end. Latency: from the request of a creation to the event of the handled object, in ms.\n\n", burstObjects, spinObjects)
	fmt.Fprintln(w, "| guest | the other one | objects/s | p50 | p99 | its processors |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	guests := map[string]bool{}
	for _, f := range all {
		guests[f.Guest] = true
	}
	for _, guest := range []string{"rust", "go"} {
		for _, spins := range []bool{false, true} {
			of := func(get func(fairness) float64) float64 {
				var values []float64
				for _, f := range all {
					if f.Guest == guest && f.Spinning == spins {
						values = append(values, get(f))
					}
				}
				slices.Sort(values)
				return quantile(values, 0.5)
			}
			if guests[guest] {
				does := map[bool]string{false: "idles", true: "spins"}[spins]
				fmt.Fprintf(w, "| %s | %s | %.0f | %.1f | %.1f | %.2f |\n", guest, does, of(func(f fairness) float64 { return f.PerSecond }),
					of(func(f fairness) float64 { return quantile(f.Latencies, 0.5) }), of(func(f fairness) float64 { return quantile(f.Latencies, 0.99) }),
					of(func(f fairness) float64 { return f.Computing }))
			}
		}
	}
	fmt.Fprintln(w, "\nGoals: with two operators that want the processors, each keeps at least half of its objects/s, and its p99 at most doubles.")
}
