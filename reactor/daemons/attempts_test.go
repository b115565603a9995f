package daemons

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// TestCallsOfDaemonsKeepBodiesAsText: thousands of them can wait for a request, and small values take sixty times their text
// when they are decoded.
func TestCallsOfDaemonsKeepBodiesAsText(t *testing.T) {
	for name, spec := range map[string]string{
		"as the API server stores it": `{"many":[{"a":0},{"a":0}]}`,
		"escapes of the API server":   `{"many":[{"a":"\u003c"}]}`,
		"not ASCII":                   `{"many":[{"a":"é"}]}`,
		"other numbers":               `{"many":[{"a":1e3},{"a":-0}]}`,
		"another order":               `{"b":[],"a":{"a":0}}`,
	} {
		s := newScene(t, &reactortest.Scripted{}, `{"metadata":{"name":"x"},"spec":`+spec+`}`)
		b := s.newLife(t, `{"id":"fn","kind":"daemon","resource":{"args":["x"]}}`)
		b.engine.Decode = func(raw []byte) (dicts.Object, error) {
			return dicts.DecodeBody(raw, func(string, string) bool { return true })
		}
		c, err := b.awake(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, err := dicts.Decode([]byte(spec))
		if err != nil {
			t.Fatal(err)
		}
		if _, lazy := c.Body["spec"].(*dicts.Lazy); !lazy || !dicts.Equal(c.Body["spec"], want) {
			t.Errorf("%s: the spec is %T %v", name, c.Body["spec"], c.Body["spec"])
		}
	}
}

// TestEndReleasesWhatRemains: functions of a patch that have lost against newer changes belong to a task of the guest, which
// occupies an instance until it is released. After the end of a daemon or a timer, no attempt applies them.
func TestEndReleasesWhatRemains(t *testing.T) {
	for name, kind := range map[string]string{"a daemon": `"kind":"daemon"`, "a timer": `"kind":"timer","interval":100`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{
					Attempts: []string{`{"step":"done","transforms":1}`},
					Edits:    func(body dicts.Object) { body["spec"] = "edited" },
				}, string(reactortest.NewObject(1)))
				s.cause.Resource = &selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Namespaced: true}
				b := s.newLife(t, `{"id":"fn","resource":{"args":["x"]},`+kind+`}`)
				sent := 0
				conflict := reactortest.Replying(func(*http.Request) (int, string) {
					sent++
					return http.StatusUnprocessableEntity, `{}`
				})
				b.engine.Writer.Client = clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: conflict}}),
					func() clients.Options { return clients.Options{} }, func(string) {})
				b.start(t.Context())
				synctest.Wait()
				b.stopper.Set(abi.StopResourceDeleted)
				<-b.done
				if sent != 1 || s.guest.Alive != 0 {
					t.Errorf("%d patches sent, %d tasks are not released\n%s", sent, s.guest.Alive, &s.log)
				}
			})
		})
	}
}

// TestFailedAttemptsKeepNoMemory: an error counts until the next attempt at most.
func TestFailedAttemptsKeepNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, &reactortest.Scripted{
			Attempts: []string{`{"step":"done","error":{"kind":"temporary","message":"` + strings.Repeat("x", 1000) + `","delay":100}}`},
		}, string(reactortest.NewObject(1)))
		s.cause.Services.Account = accounts.New(accounts.Limits{})
		b := s.newLife(t, `{"id":"fn","resource":{"args":["x"]},"kind":"timer","interval":100}`)
		b.start(t.Context())
		synctest.Wait()
		if held := reactortest.Held(s.cause.Account, accounts.Patches); held != 0 || len(s.guest.Times) != 1 {
			t.Errorf("%d bytes are held after %d attempts", held, len(s.guest.Times))
		}
		b.stopper.Set(abi.StopResourceDeleted)
		<-b.done
	})
}

// TestAttemptsWithBrokenBodies: an attempt at whose end the body cannot be read ends with that error, and is left.
func TestAttemptsWithBrokenBodies(t *testing.T) {
	s := newScene(t, &reactortest.Scripted{Begin: time.Now(), Attempts: []string{`{"step":"wait","seconds":0}`}}, string(reactortest.NewObject(1)))
	b := s.newLife(t, `{"id":"fn","resource":{"args":["x"]},"kind":"daemon"}`)
	waits, err := b.attempt(t.Context())
	if err != nil || waits == nil {
		t.Fatalf("the attempt does not wait: %v, %v", waits, err)
	}
	broken := []byte("{")
	b.memory.live.Store(&broken)
	if _, err := waits.then(t.Context()); err == nil || !strings.Contains(err.Error(), "the body of the object: ") || b.talk != nil {
		t.Errorf("it ends with %v", err)
	}
}
