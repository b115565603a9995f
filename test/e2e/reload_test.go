package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/operator"
)

// version is the guest "versions" with a configuration in it. All versions have the same code, which is compiled once.
func version(t *testing.T, variables ...string) string {
	t.Helper()
	wasm, err := os.ReadFile(guest(t, "versions"))
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]string{}
	for _, variable := range variables {
		key, value, _ := strings.Cut(variable, "=")
		config[key] = value
	}
	if wasm, err = configuration.Embed(wasm, config); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "versions.wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// compileFirst fills the cache, so that a module is loaded at once.
func compileFirst(t *testing.T, module string) {
	t.Helper()
	modules, err := operator.Load(t.Context(), []string{module}, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// reloading is an operator whose module is replaced while it runs.
type reloading struct {
	*running
	path    string
	watches *atomic.Int64 // that were opened for the examples
}

// developed starts an operator with a module that can be replaced.
func (s space) developed(t *testing.T, module string, change func(*operator.Options)) *reloading {
	t.Helper()
	r := &reloading{path: filepath.Join(t.TempDir(), "operator.wasm"), watches: &atomic.Int64{}}
	r.put(t, module)
	config := rest.CopyConfig(s.RESTConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &watchCounter{next, r.watches} })
	r.running = s.start(t, options{module: r.path, rest: config, change: func(o *operator.Options) {
		o.Reload = true
		if change != nil {
			change(o)
		}
	}})
	return r
}

// watchCounter counts the watches of examples.
type watchCounter struct {
	http.RoundTripper
	count *atomic.Int64
}

func (c *watchCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") == "true" && strings.HasSuffix(r.URL.Path, "/kopfexamples") {
		c.count.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

// put replaces the file of the module.
func (r *reloading) put(t *testing.T, module string) {
	t.Helper()
	wasm, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, wasm)
}

// write writes the file in two parts, as slow compilers do.
func (r *reloading) write(t *testing.T, wasm []byte) {
	t.Helper()
	f, err := os.Create(r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, part := range [][]byte{wasm[:len(wasm)/2], wasm[len(wasm)/2:]} {
		if _, err := f.Write(part); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// replace puts another module in place and waits until it is taken.
func (r *reloading) replace(t *testing.T, module string) {
	t.Helper()
	before := len(r.log.With("is replaced by sha256:"))
	r.put(t, module)
	began := time.Now()
	r.until(t, "the module is replaced", func() bool { return len(r.log.With("is replaced by sha256:")) > before })
	t.Logf("replaced after %v", time.Since(began).Round(time.Millisecond))
}

// said waits until a version has said something of a handler.
func (r *reloading) said(t *testing.T, version int, handler, name string) {
	t.Helper()
	r.until(t, fmt.Sprintf("version %d says %s %s", version, handler, name), func() bool { return r.count(version, handler, name) > 0 })
}

// count is how often it has.
func (r *reloading) count(version int, handler, name string) int {
	return len(r.stdout.With(fmt.Sprintf(`"handler":%q,`, handler), fmt.Sprintf(`"name":%q,`, name), fmt.Sprintf(`"version":"%d"`, version)))
}

// TestReload: the new version handles what happens from then on; what was handled stays
// so, and the watch continues. The old module is closed.
func TestReload(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.developed(t, version(t), nil)
	for i := range 5 {
		s.create(t, fmt.Sprint("obj", i), "{field: one}")
	}
	for i := range 5 {
		s.handled(t, fmt.Sprint("obj", i))
	}
	before, watches := s.get(t, "obj0").GetResourceVersion(), op.watches.Load()
	op.replace(t, version(t, "version=2", "handlers=create,update,resume,event"))
	s.patch(t, "obj1", `{"spec":{"field":"two"}}`)
	s.create(t, "later", "{field: one}")
	op.said(t, 2, "update", "obj1")
	op.said(t, 2, "create", "later")
	s.handled(t, "later")
	op.replace(t, version(t, "version=3"))
	s.patch(t, "obj1", `{"spec":{"field":"three"}}`)
	op.said(t, 3, "update", "obj1")
	s.handled(t, "obj1")
	for _, line := range op.stdout.All() {
		if strings.Contains(line, "obj0") && !strings.Contains(line, `"version":"1"`) {
			t.Errorf("handled again: %s", line)
		}
	}
	if after := s.get(t, "obj0").GetResourceVersion(); after != before {
		t.Errorf("an object was changed from %s to %s", before, after)
	}
	if n := op.watches.Load(); n != watches || n == 0 {
		t.Errorf("%d watches were opened", n-watches)
	}
}

// TestReloadOfBadModules: whatever is wrong with a module, the one before continues, and
// the log tells why.
func TestReloadOfBadModules(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, module, says string }{
		{"garbage", "", "not a WebAssembly file"},
		{"a trap", version(t, "version=2", "handlers=trap"), "it wants a trap"},
		{"a refused configuration", version(t, "version=2", "handlers=refuse"), "it refuses its configuration"},
		{"an unknown handler", version(t, "version=2", "handlers=nonsense"), `there is no handler of the kind \"nonsense\"`},
		{"more than granted", version(t, "version=2", "handlers=create,pods"), "grant it with --allow-wanted, or with --allow-kubernetes list:pods"},
		{"another setting", version(t, "version=2", "handlers=create,startup", "setting=posting.level=40"), "it changes settings, which needs a restart of the operator: posting.level"},
		{"an unknown setting", version(t, "version=2", "handlers=create,startup", "setting=posting.nonsense=40"), "unknown setting"},
	}
	s := newSpace(t)
	op := s.developed(t, version(t), nil)
	for i, test := range tests {
		if test.module == "" {
			op.write(t, []byte("this is no module"))
		} else {
			op.put(t, test.module)
		}
		op.until(t, "it tells of "+test.name, func() bool {
			return len(op.log.With("The changed module was refused, and the previous one continues", test.says)) > 0
		})
		name := fmt.Sprint("obj", i)
		s.create(t, name, "{field: one}")
		s.handled(t, name)
		if op.count(1, "create", name) != 1 {
			t.Errorf("after %s, the old module does not go on", test.name)
		}
	}
	op.replace(t, version(t, "version=2"))
	s.create(t, "good", "{field: one}")
	op.said(t, 2, "create", "good")
}

// TestReloadOfOtherResources: streams start and stop with what is registered.
func TestReloadOfOtherResources(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.developed(t, version(t, "resource=widgets.example.com"), nil)
	s.create(t, "obj", "{field: one}")
	op.replace(t, version(t, "version=2"))
	op.said(t, 2, "create", "obj") // it existed before, but no handler had matched it
	s.handled(t, "obj")
	op.replace(t, version(t, "version=3", "resource=widgets.example.com"))
	op.until(t, "the stream has stopped", func() bool { return len(op.log.With("Stopping the watch-stream for kopfexamples")) == 1 })
	s.patch(t, "obj", `{"spec":{"field":"two"}}`)
	op.replace(t, version(t, "version=4"))
	op.said(t, 4, "update", "obj") // which has happened meanwhile
}

// TestReloadOfRunningHandlers: they finish on the module that they began on, which is
// closed after that; retries are those of the new one.
func TestReloadOfRunningHandlers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	next := version(t, "version=2")
	compileFirst(t, next)
	op := s.developed(t, version(t), nil)
	s.create(t, "slow", "{seconds: 20}")
	s.create(t, "failing", "{do: fail}")
	op.said(t, 1, "create", "slow")
	op.said(t, 1, "create", "failing")
	op.replace(t, next)
	if op.count(1, "slept", "slow") > 0 {
		t.Fatal("the machine is too slow for this test")
	}
	op.said(t, 1, "slept", "slow")
	s.handled(t, "slow")
	s.handled(t, "failing")
	if op.count(2, "create", "failing") != 1 || op.count(2, "create", "slow") != 0 {
		t.Errorf("the new version was called with: %s", op.stdout)
	}
	op.until(t, "the old module is closed", func() bool { return len(op.log.With("operator.wasm is closed: sha256:")) == 1 })
}

// TestReloadOfBackground: daemons, timers and background handlers of the old version are
// stopped, and started again; those that have ended by themselves too.
func TestReloadOfBackground(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.developed(t, version(t, "handlers=daemon,timer,background,cleanup"), nil)
	for name, spec := range map[string]string{"good": "{}", "ended": "{do: end}", "lingering": "{do: linger}"} {
		s.create(t, name, spec)
		op.said(t, 1, "daemon", name)
		op.said(t, 1, "timer", name)
	}
	op.replace(t, version(t, "version=2", "handlers=daemon,timer,background,cleanup,startup"))
	for _, name := range []string{"good", "ended", "lingering"} {
		op.said(t, 2, "daemon", name)
		op.said(t, 2, "timer", name)
	}
	op.said(t, 2, "background", "")
	if len(op.stdout.With(`"handler":"stopped"`, `"version":"1"`, "operator_exiting")) != 2 {
		t.Errorf("the daemons do not know why they are stopped: %s", op.stdout)
	}
	ticks := func(version int) int { return op.count(version, "timer", "good") }
	old, now := ticks(1), ticks(2)
	op.until(t, "the new timer ticks", func() bool { return ticks(2) > now+3 })
	if ticks(1) != old {
		t.Error("the old timer ticks on")
	}
	for _, line := range []string{`"handler":"daemon"`, `"handler":"background"`} {
		if n := len(op.stdout.With(line, `"version":"2"`)); n != len(op.stdout.With(line, `"version":"1"`)) {
			t.Errorf("%d times started again: %s", n, line)
		}
	}
	op.stop(t)
	if op.count(1, "cleanup", "") != 0 || op.count(2, "cleanup", "") != 1 || op.count(2, "startup", "") != 1 {
		t.Errorf("startup and cleanup: %s", op.stdout)
	}
}

// TestReloadOfIndices: they are filled again before handlers of the new version run.
func TestReloadOfIndices(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	const objects = 50
	for i := range objects {
		s.create(t, fmt.Sprint("obj", i), "{}")
	}
	op := s.developed(t, version(t, "handlers=index"), nil)
	op.until(t, "all are indexed", func() bool { return op.counts().Indexed == objects })
	op.replace(t, version(t, "version=2", "handlers=index,create"))
	for i := range objects {
		s.handled(t, fmt.Sprint("obj", i))
	}
	want := fmt.Sprintf(`"more":[%d,[%s"2"]]`, objects, strings.Repeat(`"2",`, objects-1))
	if n := len(op.stdout.With(want)); n != objects {
		t.Errorf("%d handlers saw the whole index of the new version: %s", n, op.stdout.All()[0])
	}
}

// TestReloadOfManyObjects: a thousand handled objects stay as they are.
func TestReloadOfManyObjects(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	const objects = 1000
	s.createMany(t, "obj", objects)
	op := s.developed(t, version(t), nil)
	s.manyHandled(t, "obj", 0, objects)
	version2 := version(t, "version=2", "handlers=create,update,resume,event")
	op.replace(t, version2)
	began := time.Now()
	s.create(t, "new", "{field: one}")
	op.said(t, 2, "create", "new")
	t.Logf("a new object is handled %v later, with %d old ones", time.Since(began).Round(time.Millisecond), objects)
	op.replace(t, version(t, "version=3"))
	s.create(t, "newer", "{field: one}")
	s.handled(t, "newer")
	if n := len(op.stdout.With(`"name":"obj`)); n != objects {
		t.Errorf("%d calls for the old objects, want %d", n, objects)
	}
}

var peerings = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfpeerings"}

// TestDev: `kopf run --dev` has the priority that makes others pause, and takes a
// changed file over.
func TestDev(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	path := filepath.Join(t.TempDir(), "operator.wasm")
	r := &reloading{path: path}
	r.put(t, version(t))
	s.ApplyIn(t, s.namespace, "{apiVersion: kopf.dev/v1, kind: KopfPeering, metadata: {name: default}}")
	p := s.spawnModule(t, path, "--dev", "--peering", "default")
	s.until(t, "it announces its priority", func() bool {
		object, err := s.client(peerings).Get(t.Context(), "default", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		status, _ := json.Marshal(object.Object["status"])
		return strings.Contains(string(status), `"priority":666`)
	})
	s.create(t, "obj", "{field: one}")
	s.handled(t, "obj")
	for n, step := range []struct{ version, what string }{{"2", "compiled now or earlier"}, {"1", "compiled before"}, {"2", "compiled before"}} {
		module := version(t, "version="+step.version)
		if step.version == "1" {
			module = version(t)
		}
		r.put(t, module)
		began := time.Now()
		p.until(t, "the module is replaced", func() bool { return len(p.stderr.With("operator.wasm is replaced by sha256:")) == n+1 })
		replaced := time.Since(began)
		s.patch(t, "obj", fmt.Sprintf(`{"spec":{"field":"change %d"}}`, n))
		p.until(t, "the new version handles it", func() bool {
			return len(p.stdout.With(`"handler":"update"`, fmt.Sprintf(`"version":%q`, step.version))) == 1+n/2
		})
		t.Logf("a module, %s, replaces another one %v after it was written; the next change is handled %v after that",
			step.what, replaced.Round(time.Millisecond), time.Since(began.Add(replaced)).Round(time.Millisecond))
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
