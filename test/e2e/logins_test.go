package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/internal/programtest"
)

// loginConfig makes the guest "living" log in with these results, one after another.
func loginConfig(handlers string, results ...string) map[string]string {
	return map[string]string{"handlers": handlers, "logins": "[" + strings.Join(results, ",") + "]", "options": `{"retries":2}`}
}

// behind is an operator that reaches its cluster through a porter.
func (s space) behind(p *porter, config map[string]string) options {
	return options{guest: "living", config: config, rest: &rest.Config{
		Host: p.url, BearerToken: "own", TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}}
}

// TestRefusedCredentialsAreReplaced: refused credentials are replaced by those of the next login, and
// nothing is lost meanwhile; when there are no others, the operator ends.
func TestRefusedCredentialsAreReplaced(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	p := s.porter(t, "Bearer one")
	op := s.start(t, s.behind(p, loginConfig("login create cleanup", `{"token":"one"}`, `{"scheme":"Custom","token":"two"}`, `{"token":"one"}`)))
	s.create(t, "obj1", "{}")
	s.handled(t, "obj1")
	p.accept("Custom two")
	s.create(t, "obj2", "{}")
	s.handled(t, "obj2")
	if n := len(op.log.With("Re-authentication has been initiated")); n != 1 {
		t.Errorf("%d re-authentications, want one", n)
	}
	p.accept("nothing")
	s.create(t, "obj3", "{}")
	select {
	case <-op.ended:
	case <-time.After(patience):
		t.Fatal("the operator continues without credentials")
	}
	if op.err == nil || !strings.Contains(op.err.Error(), "ran out of valid credentials: 401 Unauthorized: who are you?") {
		t.Errorf("it ended with %v", op.err)
	}
	if p.refusals("Bearer one") == 0 {
		t.Error("the first token was not refused")
	}
	if len(op.stdout.With(`"activity":"cleanup"`)) != 1 {
		t.Error("there was no cleanup")
	}
	op.err = nil // as it should be
}

// TestLoginHandlersComeBeforeTheHost: its own credentials are offered, not used.
func TestLoginHandlersComeBeforeTheHost(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	p := s.porter(t, "Bearer own")
	op := s.start(t, s.behind(p, loginConfig("login create", `{"login":"host","expiration":"2099-12-31T23:59:59"}`)))
	s.create(t, "obj1", "{}")
	s.handled(t, "obj1")
	if len(op.stdout.With(`"activity":"authentication"`, `"logins":["host"]`)) != 1 {
		t.Error("the handler was not offered the host's own login")
	}

	without := s.porter(t, "Bearer own")
	refused, _ := s.launch(t, s.behind(without, loginConfig("login create", `{"token":"mine"}`)))
	<-refused.ended
	if refused.err == nil || without.refusals("Bearer mine") == 0 {
		t.Errorf("it ended with %v, want a refusal of the handler's token", refused.err)
	}
}

// TestBadLogins: the operator does not start, and says why.
func TestBadLogins(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	tests := []struct {
		name, result, want string
		cleanups           int
	}{
		{"nothing", `null`, "ran out of valid credentials: the login handlers return none", 1},
		{"a path", `{"ca_path":"/etc/passwd"}`, `the result of the login handler 'loginFn': ca_path is a field of the class host`, 0},
		{"a server", `{"server":"https://example.com"}`, "server is a field of the class grant", 0},
		{"expired", `{"login":"host","expiration":"2001-01-01T00:00:00"}`, `those of "loginFn" have expired at 2001-01-01T00:00:00Z`, 1},
		{"not an object", `"token"`, "want an object like ConnectionInfo", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			op, _ := s.launch(t, options{guest: "living", config: loginConfig("login create cleanup", test.result)})
			<-op.ended
			if op.err == nil || !strings.HasPrefix(op.err.Error(), "cannot log in to the cluster: ") || !strings.Contains(op.err.Error(), test.want) {
				t.Errorf("it ended with %v, want %q", op.err, test.want)
			}
			if n := len(op.stdout.With("cleanup")); n != test.cleanups {
				t.Errorf("%d cleanups, want %d", n, test.cleanups)
			}
		})
	}
}

// TestChosenServers: the administrator may allow login handlers to choose the server.
func TestChosenServers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	p := s.porter(t, "Basic dTpw")
	args := []string{
		"run", "-n", s.namespace, "--config", "handlers=login create", "--config",
		fmt.Sprintf(`logins=[{"server":%q,"insecure":true,"username":"u","password":"p"}]`, p.url),
	}
	got := kopf(t, nil, append(args, guest(t, "living"))...)
	if got.code != 1 || !strings.Contains(got.stderr, "server is a field of the class grant") {
		t.Errorf("code %d, standard error:\n%s", got.code, got.stderr)
	}
	op := s.operate(t, nil, append(args, "--allow-server", guest(t, "living"))...)
	s.create(t, "obj1", "{}")
	s.handled(t, "obj1")
	op.signal(t, syscall.SIGTERM)
	if code := op.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestRotatedCredentials: tokens in files and of programs are got again when the
// old ones are refused.
func TestRotatedCredentials(t *testing.T) {
	t.Parallel()
	users := map[string]string{
		"file":    `{tokenFile: TOKEN}`,
		"program": `{exec: {apiVersion: client.authentication.k8s.io/v1, command: PROGRAM, interactiveMode: Never}}`,
	}
	for name, user := range users {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			p := s.porter(t, "Bearer one")
			dir := t.TempDir()
			file, program := filepath.Join(dir, "token"), filepath.Join(dir, "login.sh")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("one")
			programtest.Write(t, program, `printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat `+file+`)"`)
			user := strings.NewReplacer("TOKEN", file, "PROGRAM", program).Replace(user)
			op := s.operate(t, kubeconfig(t, `{apiVersion: v1, kind: Config, current-context: x,
  clusters: [{name: c, cluster: {insecure-skip-tls-verify: true, server: "`+p.url+`"}}], users: [{name: u, user: `+user+`}],
  contexts: [{name: x, context: {cluster: c, user: u}}]}`), "run", "-n", s.namespace, guest(t, "scripted"))
			s.create(t, "obj1", "{}")
			s.handled(t, "obj1")
			write("two")
			p.accept("Bearer two")
			s.create(t, "obj2", "{}")
			s.handled(t, "obj2")
			if p.refusals("Bearer one") == 0 {
				t.Error("the first token was not refused")
			}
			op.signal(t, syscall.SIGTERM)
			if code := op.exits(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}
