package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/internal/programtest"
)

// credentialPlugin writes a program that gives credentials, and a kubeconfig with it. The
// program notes each of its calls in the file calls in its directory.
func credentialPlugin(t *testing.T, server, script string) (env []string, dir string) {
	t.Helper()
	dir = t.TempDir()
	programtest.Write(t, filepath.Join(dir, "login.sh"), "cd '"+dir+"'\necho >>calls\n"+script)
	return kubeconfig(t, `{apiVersion: v1, kind: Config, current-context: x,
  clusters: [{name: c, cluster: {insecure-skip-tls-verify: true, server: "`+server+`"}}], contexts: [{name: x, context: {cluster: c, user: u}}],
  users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: `+dir+`/login.sh}}}]}`), dir
}

// pluginCalls is how often the program was called.
func pluginCalls(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, "calls")) // before its first call there is none
	return strings.Count(string(text), "\n")
}

// TestPluginTokensExpire: a program is asked once, and again when what it has given has
// expired: the cluster never sees a token that is too old.
func TestPluginTokensExpire(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	p := s.porter(t, "Bearer one", "Bearer two")
	expires := time.Now().Add(5 * time.Second)
	env, dir := credentialPlugin(t, p.url, `
credential() { printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{%s}}' "$1"; }
if [ "$(wc -l <calls)" -eq 1 ]; then
	credential '"token":"one","expirationTimestamp":"`+expires.UTC().Format(time.RFC3339Nano)+`"'
else
	credential '"token":"two"'
fi`)
	op := s.operate(t, env, "run", "-n", s.namespace, guest(t, "scripted"))
	s.create(t, "obj1", "{}")
	s.handled(t, "obj1")
	time.Sleep(time.Until(expires))
	s.create(t, "obj2", "{}")
	s.handled(t, "obj2")
	p.accept("Bearer two") // only now: what was sent before it expired may have been on its way
	s.create(t, "obj3", "{}")
	s.handled(t, "obj3")
	op.signal(t, syscall.SIGTERM)
	if code := op.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if calls := pluginCalls(dir); calls != 2 {
		t.Errorf("%d calls of the program, want 2", calls)
	}
	if refused := p.refusals("Bearer one"); refused > 0 {
		t.Errorf("an expired token was sent %d times", refused)
	}
}

// TestPluginThatHangs: it holds up the operator, but not its end.
func TestPluginThatHangs(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	env, dir := credentialPlugin(t, s.RESTConfig().Host, "exec 2>/dev/null\nwhile [ -e calls ]; do sleep 0.1; done") // until the test is over; it must not keep our pipe open
	op := s.operate(t, env, "run", "-n", s.namespace, guest(t, "scripted"))
	op.until(t, "the program runs", func() bool { return pluginCalls(dir) > 0 })
	op.signal(t, syscall.SIGTERM)
	if code := op.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
