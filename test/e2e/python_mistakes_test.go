package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// pythonMistakes is a script whose handlers do what they should not, as the object says.
const pythonMistakes = `
import asyncio, kopf

def unknown_result(**_):
    return {object()}

def unknown_patch(patch, **_):
    patch.status['x'] = object()

def changes_spec(spec, **_):
    spec['act'] = 'other'

def blocks(spec, **_):
    return kopf.fetch(spec['url'], timeout=120).text

def prints(**_):
    for _ in range(30_000):
        print('x' * 100)
    return 'printed'

def quick(**_):
    return 'handled'

@kopf.on.create('kopfexamples', errors=kopf.ErrorsMode.PERMANENT)
def act(spec, **kwargs):
    return globals()[spec['act']](spec=spec, **kwargs)

@kopf.daemon('kopfexamples', when=lambda spec, **_: spec['act'] == 'quick', cancellation_timeout=1)
async def stubborn(logger, **_):
    logger.info("it begins")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        for _ in range(20):
            await asyncio.sleep(0.1)
`

// TestPythonMistakes: handlers in Python that return or patch what is no JSON, change the spec,
// print megabytes, block, or ignore their cancellation concern their own objects only.
func TestPythonMistakes(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-open
		fmt.Fprint(w, "at last")
	}))
	t.Cleanup(server.Close)
	answer := sync.OnceFunc(func() { close(open) })
	t.Cleanup(answer) // before the server is closed, which waits for its answers
	path := filepath.Join(t.TempDir(), "op.py")
	if err := os.WriteFile(path, []byte(pythonMistakes), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSpace(t)
	op := s.start(t, byPython(options{calls: allowing(t, server.URL)}, pythonEngine(t), path))
	s.create(t, "blocks", fmt.Sprintf(`{act: blocks, url: %q}`, server.URL))
	for act, want := range map[string]string{
		"unknown_result": "returns what JSON cannot hold",
		"unknown_patch":  "the patch of handler 'act'",
		"changes_spec":   "spec is read-only, because it is a copy of the object. Change the object by the patch: patch.spec['act'] = 'other'",
	} {
		name := strings.ReplaceAll(act, "_", "-")
		s.create(t, name, "{act: "+act+"}")
		op.says(t, name, want)
	}
	for _, act := range []string{"prints", "quick"} {
		s.create(t, act, "{act: "+act+"}")
		s.handled(t, act)
	}
	if got := s.get(t, "blocks").Object["status"]; got != nil {
		t.Errorf("the handler does not block: %v", got)
	}
	answer()
	if got := fmt.Sprint(s.handled(t, "blocks").Object["status"]); got != "map[act:at last]" {
		t.Errorf("the status is %s", got)
	}
	op.says(t, "quick", "it begins")
	s.remove(t, "quick")
	op.says(t, "quick", "Handler 'stubborn' is cancelled, but continues. It must end when it gets asyncio.CancelledError")
	s.gone(t, "quick")
}
