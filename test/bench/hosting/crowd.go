package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// These constants describe the case crowd.
const (
	selecting      = "only" // the label, and the configuration, that select the objects of an operator
	crowdYardstick = 10     // operators with watches of their own
	crowdGoal      = 10     // watches
	crowdEvents    = 1000   // in each window: so that what the operators take when idle is little next to it
	crowdPace      = 10 * time.Millisecond
	crowdWindows   = 2                // with events, and as many without
	crowdSettling  = 40 * time.Second // a host returns memory several times in the half minute after a start, which takes longer the more operators it has
)

// crowding are the figures of one process.
type crowding struct {
	Watching  string
	Operators int
	Watches   int     // at the API server
	CPU       float64 // ms of the process for each event, without what it takes when idle
	Idle      float64 // per cent of one processor, without events
}

// crowd measures events that concern one of many operators, which all watch the same objects; and as a yardstick, one operator
// and a few with watches of their own.
func (c *cluster) crowd(ctx context.Context, o options) ([]crowding, error) {
	if err := c.provide(ctx, caseCrowd, 1); err != nil {
		return nil, err
	}
	lines := []crowding{
		{Watching: "own", Operators: 1},
		{Watching: "own", Operators: crowdYardstick},
		{Watching: "shared", Operators: 1},
		{Watching: "shared", Operators: slices.Max(o.counts)},
	}
	if c.turns++; c.turns%2 == 0 {
		slices.Reverse(lines)
	}
	for i := range lines {
		line := &lines[i]
		fmt.Fprintf(os.Stderr, "crowd: %d operators, %s watches\n", line.Operators, line.Watching)
		if err := c.crowded(ctx, o, line); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// crowded measures one process.
func (c *cluster) crowded(ctx context.Context, o options, line *crowding) (err error) {
	before, err := c.watches(ctx)
	if err != nil {
		return err
	}
	p, err := c.launch(o, figures{Guest: "go", Case: caseCrowd, Watching: line.Watching, Count: line.Operators})
	if err != nil {
		return err
	}
	defer func() {
		_ = p.stdin.Close()
		err = errors.Join(err, p.cmd.Wait(), c.clear(ctx, namespaceOf(caseCrowd, 0)))
	}()
	began := time.Now()
	if _, err := p.ask(""); err != nil {
		return err
	}
	progress("start", began)
	object := map[string]any{
		"apiVersion": "kopf.dev/v1", "kind": kindOf(plural), "spec": map[string]any{"field": "0"},
		"metadata": map[string]any{"name": "example", "labels": map[string]any{selecting: fmt.Sprint(line.Operators - 1)}},
	}
	if err := c.create(ctx, resource(caseCrowd, 0), namespaceOf(caseCrowd, 0), object); err != nil {
		return err
	}
	time.Sleep(crowdSettling)
	after, err := c.watches(ctx)
	if err != nil {
		return err
	}
	line.Watches = after - before
	return c.windows(ctx, o, p, line)
}

// windows measures times with events and without, in turns.
func (c *cluster) windows(ctx context.Context, o options, p *process, line *crowding) error {
	compute := "compute " + filepath.Join(o.folder, fmt.Sprintf("hosting-%s-%d-%s", caseCrowd, line.Operators, line.Watching))
	before, err := p.ask("figures")
	if err != nil {
		return err
	}
	pids := []int{p.cmd.Process.Pid}
	var idle, busy time.Duration
	for i := range crowdWindows {
		used := processTime(pids)
		time.Sleep(crowdEvents * crowdPace)
		idle += processTime(pids) - used
		used = processTime(pids)
		if err := c.trickle(ctx, i); err != nil {
			return err
		}
		busy += processTime(pids) - used
	}
	after, err := p.ask("figures")
	if err != nil {
		return err
	}
	if calls := after.Calls - before.Calls; calls != crowdWindows*crowdEvents {
		return fmt.Errorf("the handler was called %d times for %d events", calls, crowdWindows*crowdEvents)
	}
	line.CPU = milliseconds(busy-idle) / (crowdWindows * crowdEvents)
	line.Idle = 100 * float64(idle) / float64(crowdWindows*crowdEvents*crowdPace)
	// One more window, which is not measured: a profile takes time, too.
	if _, err := p.ask(compute); err != nil {
		return err
	}
	if err := c.trickle(ctx, crowdWindows); err != nil {
		return err
	}
	_, err = p.ask(compute)
	return err
}

// trickle changes an object again and again. It takes as long as a window without events.
func (c *cluster) trickle(ctx context.Context, window int) error {
	objects := c.objects.Resource(resource(caseCrowd, 0)).Namespace(namespaceOf(caseCrowd, 0))
	ticker := time.NewTicker(crowdPace)
	defer ticker.Stop()
	for i := range crowdEvents {
		patch := fmt.Sprintf(`{"spec":{"field":"%d-%d"}}`, window, i)
		if _, err := objects.Patch(ctx, "example", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
		<-ticker.C
	}
	return nil
}

// reportCrowd prints the medians of all rounds.
func reportCrowd(w io.Writer, all []crowding) {
	if len(all) == 0 {
		return
	}
	of := func(watching string, operators int, get func(crowding) float64) float64 {
		var values []float64
		for _, line := range all {
			if line.Watching == watching && line.Operators == operators {
				values = append(values, get(line))
			}
		}
		return median(values)
	}
	cpu := func(line crowding) float64 { return line.CPU }
	worth := (of("own", crowdYardstick, cpu) - of("own", 1, cpu)) / (crowdYardstick - 1)
	fmt.Fprintf(w, "\nEvents that concern one of many operators of one resource. A watch's worth is what one more operator with a watch of its own takes for an event: %.3f ms. Of the others: what the operators take that the event does not concern.\n\n", worth)
	fmt.Fprintln(w, "| operators | watches | at the server | idle CPU % | CPU ms/event | of the others | watches' worth | goal |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	seen := map[crowding]bool{}
	for _, line := range all {
		k := crowding{Watching: line.Watching, Operators: line.Operators}
		if seen[k] {
			continue
		}
		seen[k] = true
		value, goal := of(k.Watching, k.Operators, cpu), "-"
		if k.Watching == "shared" && k.Operators > 1 {
			goal = fmt.Sprintf("< %d", crowdGoal)
		}
		others := value - of(k.Watching, 1, cpu)
		fmt.Fprintf(w, "| %d | %s | %.0f | %.2f | %.3f | %.3f | %.1f | %s |\n", k.Operators, k.Watching,
			of(k.Watching, k.Operators, func(line crowding) float64 { return float64(line.Watches) }), of(k.Watching, k.Operators, func(line crowding) float64 { return line.Idle }), value, others, others/worth, goal)
	}
}
