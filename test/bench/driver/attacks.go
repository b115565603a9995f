package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/test/attackers"
)

// attacksOnly as the flag -only measures reviews under attacks, and nothing else.
const attacksOnly = "attacks"

const (
	attackersAtOnce = 1000
	attackReviews   = 300 // in each round, over a connection that is kept, and as many over fresh ones
)

// manner is how a well-behaved client connects.
type manner struct {
	name string
	ask  func(ctx context.Context, address string) ([]float64, error)
}

var manners = []manner{
	{"over a connection that is kept", func(ctx context.Context, address string) ([]float64, error) {
		return ask(ctx, address, 1, attackReviews)
	}},
	{"over a fresh connection each", askFresh},
}

// attacked are the times of reviews of one round, in ms.
type attacked struct {
	kind, manner string
	quiet, under []float64
	peak         float64 // of the operator's memory under the attack, in MiB
}

// attacks measures how long reviews take while attackers hold, open and use connections,
// each time next to how long they take without attackers.
func attacks(ctx context.Context, o options) (err error) {
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
	p := reviewers(port, certFile, keyFile, nil)[0]
	if missing := p.missing(); missing != "" {
		return fmt.Errorf("there is no %s", missing)
	}
	c, err := o.startCluster(ctx)
	if err != nil {
		return err
	}
	defer c.stop()
	kubeconfig, err := c.kubeconfigFor(0)
	if err != nil {
		return err
	}
	process, err := launch(launching{ordinary(p.Command), []string{"KUBECONFIG=" + kubeconfig}, filepath.Join(folder, "logs", "attacks.log")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.stop()) }()
	a := &admissionBench{options: o, cluster: c, address: fmt.Sprintf("127.0.0.1:%d", port)}
	if err := a.ready(ctx, process); err != nil {
		return err
	}
	var results []attacked
	for round := range o.Rounds {
		for _, kind := range attackers.Kinds {
			fmt.Fprintf(o.Log, "round %d of %d: %s\n", round+1, o.Rounds, kind.Name)
			resetPeak(process.pid())
			more, err := underAttack(ctx, kind, a.address)
			if err != nil {
				return fmt.Errorf("%s: %w", kind.Name, err)
			}
			more[0].peak = memoryOf(process.pid()).Peak
			results = append(results, more...)
		}
	}
	printAttacks(o, results)
	return nil
}

// ordinary runs a command with the ordinary policy of the scheduler. The driver may have a real-time policy, as a
// well-behaved client on another machine does not wait for a processor of the server's: see scripts/bench.sh.
func ordinary(command []string) []string {
	if chrt, err := exec.LookPath("chrt"); err == nil {
		return append([]string{chrt, "--other", "0"}, command...)
	}
	return command
}

// underAttack asks without attackers, and then with them, in all manners.
func underAttack(ctx context.Context, kind attackers.Kind, address string) ([]attacked, error) {
	results := make([]attacked, len(manners))
	for i, m := range manners {
		times, err := m.ask(ctx, address)
		if err != nil {
			return nil, err
		}
		results[i] = attacked{kind: kind.Name, manner: m.name, quiet: times}
	}
	attack, err := attackers.Start(kind, address, "/check", attackersAtOnce)
	if err != nil {
		return nil, err
	}
	for i, m := range manners {
		times, askErr := m.ask(ctx, address)
		results[i].under = times
		err = errors.Join(err, askErr)
	}
	_, stopErr := attack.Stop()
	return results, errors.Join(err, stopErr)
}

// askFresh sends reviews one after the other, over a connection each.
func askFresh(ctx context.Context, address string) ([]float64, error) {
	var times []float64
	for range attackReviews {
		began := time.Now()
		c, err := connect(ctx, address)
		if err != nil {
			return nil, err
		}
		err = c.ask()
		c.close()
		if err != nil {
			return nil, err
		}
		times = append(times, time.Since(began).Seconds()*1000)
	}
	slices.Sort(times)
	return times, nil
}

func printAttacks(o options, results []attacked) {
	fmt.Fprintf(o.Out, "Milliseconds until the answer to a review, with %d attackers and without, in pairs; %d reviews in each of %d rounds\n", attackersAtOnce, attackReviews, o.Rounds)
	for _, kind := range attackers.Kinds {
		peak := 0.0
		for _, m := range manners {
			var quiet, under, worst, ratios []float64
			for _, r := range results {
				if r.kind == kind.Name && r.manner == m.name {
					q, u := percentile(r.quiet, 0.5), percentile(r.under, 0.5)
					quiet, under, ratios = append(quiet, q), append(under, u), append(ratios, u/q)
					peak = max(peak, r.peak)
					worst = append(worst, percentile(r.under, 0.99)/percentile(r.quiet, 0.99))
				}
			}
			fmt.Fprintf(o.Out, "  %-28s %-31s median %7.2f, without %7.2f: %5.2f times; 99th percentile %5.2f times; all: %.2f\n",
				kind.Name, m.name, median(under), median(quiet), median(ratios), median(worst), ratios)
		}
		fmt.Fprintf(o.Out, "  %-28s the operator's largest memory: %.0f MiB\n", kind.Name, peak)
	}
}
