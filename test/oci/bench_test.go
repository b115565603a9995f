//go:build bench

package oci_test

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/test/clustertest"
	"github.com/kopf-wasm/kopf/test/registrytest"
)

var rounds = flag.Int("rounds", 5, "how often each start is measured")

func TestMain(m *testing.M) { clustertest.Main(m) }

// measured is a registry behind a proxy that counts the time of its answers.
func measured(t *testing.T) (host string, spent *atomic.Int64) {
	t.Helper()
	r := registrytest.Start(t, registrytest.Options{})
	spent = &atomic.Int64{}
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: r.Host})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		began := time.Now()
		behind.ServeHTTP(w, req)
		spent.Add(int64(time.Since(began)))
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }() // Ends with Close below.
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String(), spent
}

// start runs an operator until it watches, and tells how long that took.
func (b *bench) start(cluster *clustertest.ControlPlane, name string, more ...string) time.Duration {
	b.t.Helper()
	dir, _ := built()
	cmd := exec.Command(filepath.Join(dir, "kopf"), append([]string{"run", name, "-n", "default", "--standalone", "--verbose"}, more...)...)
	cmd.Env, cmd.Dir = append(b.env, "KUBECONFIG="+cluster.Kubeconfig()), b.home
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	var took time.Duration
	said := []string{}
	for lines := bufio.NewScanner(stderr); took == 0 && lines.Scan(); {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "Starting the watch-stream for kopfexamples") {
			took = time.Since(began)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if took == 0 {
		b.t.Fatalf("it has ended:\n%s", strings.Join(said, "\n"))
	}
	return took
}

// TestStart measures how long it takes from `kopf run` until the operator watches:
// a file, and a signed artifact of a registry on this machine, cold (nothing was pulled or
// compiled before) and warm. Goal: warm, at most 100 ms beyond the registry's own time.
func TestStart(t *testing.T) {
	cluster := clustertest.Cluster(t)
	definitions, err := os.ReadFile("../conformance/crds/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cluster.Apply(t, string(definitions))
	type line struct {
		name         string
		took, beyond []time.Duration
	}
	var lines []*line
	var turns []func()
	for _, guest := range []string{"go", "rust"} {
		file, err := filepath.Abs(repository + "/.cache/guests/bench-" + guest + ".wasm")
		if err != nil {
			t.Fatal(err)
		}
		host, spent := measured(t)
		warm := newBench(t)
		warm.key("mine", "ECDSA")
		ref := warm.must("push", file, "oci://"+host+"/"+guest+":v1")
		warm.must("sign", ref, "--key", "mine.key")
		ref, _, _ = strings.Cut(ref, "@") // by the tag, which has to be resolved
		verified := []string{"-k", filepath.Join(warm.home, "mine.pub")}
		warm.start(cluster, ref, verified...)
		warm.start(cluster, file)
		add := func(name string, start func() time.Duration) {
			l := &line{name: guest + ", " + name}
			lines = append(lines, l)
			turns = append(turns, func() {
				spent.Store(0)
				took := start()
				l.took, l.beyond = append(l.took, took), append(l.beyond, took-time.Duration(spent.Load()))
			})
		}
		add("file, warm", func() time.Duration { return warm.start(cluster, file) })
		add("registry, warm", func() time.Duration { return warm.start(cluster, ref, verified...) })
		cold := func(name string, more ...string) func() time.Duration {
			return func() time.Duration {
				b := newBench(t)
				if err := os.Remove(filepath.Join(b.home, "cache", "kopf", "wasm")); err != nil {
					t.Fatal(err)
				}
				return b.start(cluster, name, more...)
			}
		}
		add("file, cold", cold(file))
		add("registry, cold", cold(ref, verified...))
	}
	for range *rounds {
		for _, turn := range turns {
			turn()
		}
	}
	fmt.Printf("%-22s %10s %24s\n", "start until watching", "median", "without the registry")
	for _, l := range lines {
		fmt.Printf("%-22s %7.0f ms %21.0f ms   all: %v\n", l.name, ms(median(l.took)), ms(median(l.beyond)), rounded(l.took))
	}
	for _, i := range []int{0, 4} {
		more := median(lines[i+1].beyond) - median(lines[i].took)
		goal := "reached"
		if median(lines[i+1].beyond) > 100*time.Millisecond {
			goal = "MISSED"
		}
		fmt.Printf("%s: %.0f ms beyond the registry (goal: 100 ms, %s), %.0f ms more than the file\n", lines[i+1].name, ms(median(lines[i+1].beyond)), goal, ms(more))
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func rounded(all []time.Duration) []time.Duration {
	var found []time.Duration
	for _, d := range all {
		found = append(found, d.Round(time.Millisecond))
	}
	return found
}
