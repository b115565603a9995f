package takeover_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-wasm/kopf/operator"
)

// scriptOfBoth is one file that both run. It prints a line for each call.
const scriptOfBoth = `
import json
import kopf

def called(handler, name, retry):
    print(json.dumps({'Handler': handler, 'Name': name, 'Retry': retry}), flush=True)

@kopf.on.startup()
def configure(settings, **_):
    settings.persistence.finalizer = 'example.com/finalizer'

@kopf.on.create('kopfexamples')
def create_fn(name, retry, spec, patch, **_):
    called('create_fn', name, retry)
    patch.status['seen'] = True
    if retry < 2 and spec.get('hard'):
        raise kopf.TemporaryError("again", delay=3)
    return {'easy': not spec.get('hard')}

@kopf.on.create('kopfexamples')
async def parent_fn(name, retry, spec, **_):
    called('parent_fn', name, retry)
    for item in spec.get('items', []):
        @kopf.subhandler(id=item)
        async def child_fn(name, retry, item=item, **_):
            called(item, name, retry)

@kopf.on.update('kopfexamples', field='spec.field')
def update_fn(name, retry, new, **_):
    called('update_fn', name, retry)

@kopf.on.delete('kopfexamples')
def delete_fn(name, retry, **_):
    called('delete_fn', name, retry)
    if retry < 1:
        raise kopf.TemporaryError("hold", delay=3)
`

// newScript makes both run one script.
func newScript(t *testing.T, text string) *setup {
	t.Helper()
	engine := pythonEngine(t)
	s := newSetup(t)
	s.script = filepath.Join(t.TempDir(), "op.py")
	if err := os.WriteFile(s.script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.here = func(o *operator.Options) { o.Modules, o.Engine = []string{s.script}, engine }
	return s
}

// TestScriptsMove: a script in Python goes from the reference to here and back, in the middle
// of retries and of a deletion. No handler is called again.
func TestScriptsMove(t *testing.T) {
	s := newStory(t, newScript(t, scriptOfBoth))

	stop := s.start(t, "reference")
	s.create(t, "one", "{field: a, items: [first]}")
	for _, handler := range []string{"create_fn", "parent_fn", "first"} {
		s.expect(t, "reference", handler, "one", 0)
	}
	s.annotated(t, "one", "last-handled-configuration", `"a"`)
	s.create(t, "hard", "{field: a, hard: true}")
	s.expect(t, "reference", "create_fn", "hard", 0)
	s.expect(t, "reference", "parent_fn", "hard", 0)
	s.annotated(t, "hard", "create_fn", `"retries":1`)
	stop()

	stop = s.start(t, "guest")
	s.expect(t, "guest", "create_fn", "hard", 1)
	s.annotated(t, "hard", "create_fn", `"retries":2`)
	s.create(t, "two", "{field: a, items: [only]}")
	for _, handler := range []string{"create_fn", "parent_fn", "only"} {
		s.expect(t, "guest", handler, "two", 0)
	}
	s.annotated(t, "two", "last-handled-configuration", `"a"`)
	s.patch(t, "one", `{"spec":{"field":"b"}}`)
	s.expect(t, "guest", "update_fn", "one", 0)
	s.annotated(t, "one", "last-handled-configuration", `"b"`)
	stop()

	stop = s.start(t, "reference")
	s.expect(t, "reference", "create_fn", "hard", 2)
	s.annotated(t, "hard", "last-handled-configuration", `"a"`)
	s.remove(t, "two")
	s.expect(t, "reference", "delete_fn", "two", 0)
	s.annotated(t, "two", "delete_fn", `"retries":1`)
	stop()

	stop = s.start(t, "guest")
	s.expect(t, "guest", "delete_fn", "two", 1)
	s.gone(t, "two")
	s.create(t, "last", "{field: a}") // what was not handled before it is not handled again
	s.expect(t, "guest", "create_fn", "last", 0)
	s.expect(t, "guest", "parent_fn", "last", 0)
	s.annotated(t, "last", "last-handled-configuration", `"a"`)
	stop()

	s.compare(t, sortedFully)
	for name, status := range map[string]string{"one": "true", "hard": "false"} {
		fields, _, _ := unstructured.NestedMap(s.get(t, name).Object, "status", "create_fn")
		if seen, _, _ := unstructured.NestedBool(s.get(t, name).Object, "status", "seen"); !seen || fields["easy"] != (status == "true") {
			t.Errorf("%s has the status %v", name, s.get(t, name).Object["status"])
		}
	}
}
