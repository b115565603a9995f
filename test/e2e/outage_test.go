package e2e_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/test/clustertest"
	"github.com/kopf-wasm/kopf/test/porttest"
)

var definitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// TestFaultsOfOutages: objects that are created and deleted during an outage are noticed afterwards.
func TestFaultsOfOutages(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	p := newProxy(t, s.RESTConfig())
	address := porttest.Unused(t)
	op := s.spawnVia(t, p.kubeconfig(t), append(impatient, "--listen", address)...)
	op.says(t, "Starting the watch-stream for kopfexamples")

	created, deleted := sized(100, 1000), sized(50, 500)
	p.inject(refusing)
	s.createMany(t, "new", created)
	time.Sleep(time.Second)
	p.inject(none)
	lifted := time.Now()
	s.manyHandled(t, "new", 0, created)
	t.Logf("%d objects of an outage are handled %v after it", created, time.Since(lifted).Round(10*time.Millisecond))
	s.handledOnce(t, p, op, "new", created)
	waitFor(t, "all are remembered", func() bool { return metric(address, "kopf_objects") == fmt.Sprint(created) })

	p.inject(expired) // so that the watch does not go on from where it was
	for i := range deleted {
		s.remove(t, fmt.Sprintf("new-%d", i))
	}
	p.inject(none)
	lifted = time.Now()
	waitFor(t, "the deleted ones are forgotten", func() bool { return metric(address, "kopf_objects") == fmt.Sprint(created-deleted) })
	t.Logf("%d deletions of an outage are noticed %v after it", deleted, time.Since(lifted).Round(10*time.Millisecond))
	s.handledOnce(t, p, op, "new", created)
}

// TestFaultsOfTheServer: the API server is killed, and starts again with what it has stored.
func TestFaultsOfTheServer(t *testing.T) {
	t.Parallel()
	o := clustertest.Options{Dir: t.TempDir(), NoControllers: true}
	s := space{clustertest.Start(t, o), "default"}
	text, err := os.ReadFile("../conformance/crds/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(t, string(text))
	op := s.run(t, append(impatient, "--config", "handlers=create delete resume")...)
	count := sized(10, 100)
	s.createMany(t, "before", count)
	s.manyHandled(t, "before", 0, count)

	s.Kill(t)
	time.Sleep(time.Second)
	s = space{clustertest.Start(t, o), "default"}
	up := time.Now()
	s.createMany(t, "after", count)
	s.manyHandled(t, "after", 0, count)
	t.Logf("the objects of the new server are handled %v after its start", time.Since(up).Round(10*time.Millisecond))
	for i := range count {
		for _, name := range []string{"before", "after"} {
			if calls := op.stdout.callsFor(t, fmt.Sprintf("%s-%d", name, i)); len(calls) != 1 {
				t.Errorf("%s-%d: %d calls, want the creation only: %v", name, i, len(calls), calls)
			}
		}
	}
	s.remove(t, "before-0")
	s.gone(t, "before-0")
}

// TestFaultsOfDefinitions: a resource is deleted with all its objects, and defined again.
func TestFaultsOfDefinitions(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	phoenix := definition("Phoenix", "phoenixes", "{type: object, x-kubernetes-preserve-unknown-fields: true}")
	object := func(name string) string {
		return fmt.Sprintf("\n---\n{apiVersion: e2e.kopf.dev/v1, kind: Phoenix, metadata: {name: %s}, spec: {field: one}}", name)
	}
	s.Apply(t, phoenix)
	op := s.spawn(t, "--config", "resource=phoenixes.e2e.kopf.dev", "--config", "handlers=create delete")
	op.says(t, "Starting the watch-stream for phoenixes")
	for round := range sized(2, 10) {
		name := fmt.Sprintf("obj-%d", round)
		s.ApplyIn(t, s.namespace, phoenix+object(name))
		waitFor(t, "the creation of "+name+" is handled", func() bool { return len(op.stdout.callsFor(t, name)) > 0 })
		err := s.Dynamic().Resource(definitionsResource).Delete(t.Context(), "phoenixes.e2e.kopf.dev", metav1.DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the stream ends", func() bool { return len(op.stderr.With("Stopping the watch-stream for phoenixes")) > round })
		reasons := []string{}
		for _, c := range op.stdout.callsFor(t, name) {
			reasons = append(reasons, c.Reason)
		}
		if got := strings.Join(reasons, " "); got != "create delete" {
			t.Errorf("%s: handlers for %s, want create and delete, once each", name, got)
		}
		s.until(t, "the definition is gone", func() bool {
			_, err := s.Dynamic().Resource(definitionsResource).Get(t.Context(), "phoenixes.e2e.kopf.dev", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
}

// deaf is a connection that begins no request for a resource from a moment on.
type deaf struct {
	http.RoundTripper
	plural string
	now    *atomic.Bool // whether the moment has come
}

func (d deaf) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.now.Load() && strings.HasSuffix(r.URL.Path, "/"+d.plural) {
		return nil, errors.New("deaf")
	}
	return d.RoundTripper.RoundTrip(r)
}

// TestResourceThatGoesAwayUnseen: no deletion of an object arrives, and then the resource is
// gone. The objects are forgotten with it.
func TestResourceThatGoesAwayUnseen(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.Apply(t, definition("Ghost", "ghosts", "{type: object, x-kubernetes-preserve-unknown-fields: true}"))
	var now atomic.Bool
	config := rest.CopyConfig(s.RESTConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return deaf{next, "ghosts", &now} })
	op := s.start(t, options{rest: config, config: map[string]string{"resource": "ghosts.e2e.kopf.dev"}, settings: func(s *settings.Settings) {
		s.Watching.ServerTimeout = time.Second
	}})
	for n := range 3 {
		s.ApplyIn(t, s.namespace, fmt.Sprintf("{apiVersion: e2e.kopf.dev/v1, kind: Ghost, metadata: {name: obj%d}, spec: {field: one}}", n))
		op.called(t, fmt.Sprint("obj", n), 1)
	}
	if n := op.counts().Objects; n != 3 {
		t.Fatalf("%d objects are remembered at first", n)
	}
	now.Store(true)
	op.until(t, "the watch fails", func() bool { return len(op.log.With("Request attempt #1/9 failed", "ghosts", "watch=true")) > 0 })
	err := s.Dynamic().Resource(definitionsResource).Delete(t.Context(), "ghosts.e2e.kopf.dev", metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	op.until(t, "the stream ends", func() bool { return len(op.log.With("Stopping the watch-stream for ghosts")) > 0 })
	op.until(t, "the objects are forgotten", func() bool { return op.counts().Objects == 0 })
}

// TestFaultsOfTheOperator: killed again and again at any moment under load, an operator
// still handles each object; it does so twice only if the server did not know about the first time.
func TestFaultsOfTheOperator(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	p := newProxy(t, s.RESTConfig())
	kubeconfig := p.kubeconfig(t)
	kills, batch := sized(5, 50), sized(10, 20)
	calls := map[string]int{}
	collect := func(op *process) {
		for _, line := range op.stdout.All() {
			if _, rest, ok := strings.Cut(line, `"name":"`); ok && strings.Contains(line, `"handler":"create_fn"`) {
				name, _, _ := strings.Cut(rest, `"`)
				calls[name]++
			}
		}
	}
	var slowest time.Duration
	for n := range kills {
		op := s.spawnVia(t, kubeconfig, "--quiet")
		s.createMany(t, fmt.Sprintf("kill-%d", n), batch)
		began := time.Now()
		s.Eventually(t, patience, func() error { // it works, or it has not even begun
			if n%2 == 0 && len(op.stdout.All()) == 0 {
				return fmt.Errorf("no handler is called")
			}
			return nil
		})
		slowest = max(slowest, time.Since(began))
		time.Sleep(rand.N(50 * time.Millisecond))
		op.signal(t, syscall.SIGKILL)
		<-op.ended
		collect(op)
	}
	last := s.spawnVia(t, kubeconfig)
	began := time.Now()
	for n := range kills {
		s.manyHandled(t, fmt.Sprintf("kill-%d", n), 0, batch)
	}
	t.Logf("all is handled %v after the last start; the slowest start until a handler: %v", time.Since(began).Round(10*time.Millisecond), slowest.Round(10*time.Millisecond))
	last.signal(t, syscall.SIGTERM)
	last.exits(t)
	collect(last)
	twice := 0
	for n := range kills {
		for i := range batch {
			name := fmt.Sprintf("kill-%d-%d", n, i)
			if calls[name] == 0 {
				t.Errorf("%s was never handled", name)
			}
			if calls[name] > 1 {
				twice++
			}
			if accepted := p.accepted(name); accepted != 1 {
				t.Errorf("%s: %d calls, and %d patches that the server has accepted, want one", name, calls[name], accepted)
			}
		}
	}
	t.Logf("%d kills, %d objects, %d of them handled again, as no patch had reached the server", kills, kills*batch, twice)
}
