package operator

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/internal/programtest"
)

// filesIn writes files into a folder of the test, and returns it.
func filesIn(t *testing.T, texts map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newSecured is a server with an authority of its own, which tells what it is asked with.
func newSecured(t *testing.T) (server *httptest.Server, authority string) {
	t.Helper()
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s|%s|%s", r.Header.Get("Authorization"), r.Header.Get("Impersonate-User"), strings.Join(r.Header.Values("Impersonate-Group"), ","))
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused certificates are what is tested
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// asked is what a server is asked with by a configuration.
func asked(t *testing.T, config *rest.Config) (string, error) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	rsp, err := client.Get(config.Host)
	if err != nil {
		return "", err
	}
	defer rsp.Body.Close()
	text := make([]byte, 1000)
	n, _ := rsp.Body.Read(text)
	return string(text[:n]), nil
}

// Several files of kubeconfig are one: of equal names, those of the first file count, and
// files that do not exist do not matter. Paths are relative to the file that has them.
func TestKubeconfigsAreMerged(t *testing.T) {
	server, authority := newSecured(t)
	first := filesIn(t, map[string]string{"config": `{apiVersion: v1, kind: Config, current-context: x,
  contexts: [{name: x, context: {cluster: c, user: u, namespace: ours}}], users: [{name: other, user: {token: other}}]}`})
	second := filesIn(t, map[string]string{"ca.pem": authority, "token": "from a file", "config": `{apiVersion: v1, kind: Config, current-context: z,
  contexts: [{name: x, context: {cluster: c, user: other}}, {name: z, context: {cluster: c, user: other}}],
  clusters: [{name: c, cluster: {server: "` + server.URL + `", certificate-authority: ca.pem}}],
  users: [{name: other, user: {token: hidden}}, {name: u, user: {tokenFile: token, as: jane, as-groups: [a, b]}}]}`})
	third := filesIn(t, map[string]string{"config": `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://hidden"}}]}`})
	t.Setenv("KUBECONFIG", strings.Join([]string{first + "/config", "/nowhere/config", second + "/config", third + "/config"}, string(os.PathListSeparator)))
	conn, err := Kubeconfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if conn.DefaultNamespace != "ours" || conn.Config.Host != server.URL {
		t.Errorf("namespace %q, server %q", conn.DefaultNamespace, conn.Config.Host)
	}
	if got, err := asked(t, conn.Config); err != nil || got != "Bearer from a file|jane|a,b" {
		t.Errorf("the server was asked with %q, %v", got, err)
	}
}

// A server is trusted by the authority that the kubeconfig names, and by no other.
func TestKubeconfigAuthorities(t *testing.T) {
	server, authority := newSecured(t)
	for _, tt := range []struct{ name, cluster, fails string }{
		{"a file", `certificate-authority: ca.pem`, ""},
		{"none", `{}`, "certificate"},
		{"insecure", `insecure-skip-tls-verify: true`, ""},
		{"another one", `certificate-authority-data: ` + otherAuthority, "certificate"},
		{"another name", `{certificate-authority: ca.pem, tls-server-name: other.test}`, "certificate is valid for"},
		{"its name", `{certificate-authority: ca.pem, tls-server-name: example.com}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			options := strings.Trim(tt.cluster, "{}")
			if options != "" {
				options = ", " + options
			}
			dir := filesIn(t, map[string]string{"ca.pem": authority, "config": `{apiVersion: v1, kind: Config, current-context: x,
  contexts: [{name: x, context: {cluster: c, user: u}}], users: [{name: u, user: {token: t}}], clusters: [{name: c, cluster: {server: "` + server.URL + `"` + options + `}}]}`})
			conn, err := KubeconfigAt(filepath.Join(dir, "config"))(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := asked(t, conn.Config); (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("got %v, want %q", err, tt.fails)
			}
		})
	}
}

// Programs give tokens that expire: they are asked again then, and not before.
func TestKubeconfigPrograms(t *testing.T) {
	server, authority := newSecured(t)
	dir := filesIn(t, map[string]string{"ca.pem": authority, "expires": "2099-01-01T00:00:00Z"})
	program := filepath.Join(dir, "login")
	programtest.Write(t, program, `cd `+dir+`
echo "$TENANT" >> calls
n=$(wc -l < calls)
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s-%s","expirationTimestamp":"%s"}}' "$1" $n "$(cat expires)"`)
	config := filepath.Join(dir, "config")
	text := `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}],
  clusters: [{name: c, cluster: {server: "` + server.URL + `", certificate-authority: ca.pem}}],
  users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, args: [token], env: [{name: TENANT, value: mine}], interactiveMode: Never}}}]}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := KubeconfigAt(config)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"Bearer token-1||", "Bearer token-1||"} {
		if got, err := asked(t, conn.Config); err != nil || got != want {
			t.Errorf("request %d: %q, %v; want %q", i, got, err, want)
		}
	}
	if calls, err := os.ReadFile(filepath.Join(dir, "calls")); err != nil || string(calls) != "mine\n" {
		t.Errorf("the program was called with %q, %v", calls, err)
	}
}

// In a pod, the files of the service account are read: the server is known by their
// authority, and tokens change.
func TestServiceAccounts(t *testing.T) {
	server, authority := newSecured(t)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir := filesIn(t, map[string]string{"token": "one\n", "ca.crt": authority, "namespace": "ours\n"})
	login := ServiceAccountAt(dir)
	if conn, err := login(t.Context()); conn != nil || err != nil {
		t.Errorf("outside of a cluster: %v, %v", conn, err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", address.Hostname())
	t.Setenv("KUBERNETES_SERVICE_PORT", address.Port())
	var seen []string
	for _, token := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		conn, err := login(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if conn.DefaultNamespace != "ours" || conn.Priority <= priorityOfKubeconfig {
			t.Errorf("%+v", conn)
		}
		got, err := asked(t, conn.Config)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, got)
	}
	if want := []string{"Bearer one||", "Bearer two||"}; !slices.Equal(seen, want) {
		t.Errorf("the server was asked with %q, want %q", seen, want)
	}
	if conn, err := ServiceAccountAt(t.TempDir())(t.Context()); conn != nil || err != nil {
		t.Errorf("without a token: %v, %v", conn, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := login(t.Context()); err == nil || !strings.Contains(err.Error(), "ca.crt") {
		t.Errorf("with a broken authority: %v", err)
	}
}

// otherAuthority is one that has signed nothing.
const otherAuthority = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJmRENDQVNHZ0F3SUJBZ0lVTVZrb0sweHZMTFN3a2JrdmlIL3p5UXh3Nzg4d0NnWUlLb1pJemowRUF3SXcKRWpFUU1BNEdBMVVFQXd3SFlXNXZkR2hsY2pBZ0Z3MHlOakV4TWpFeE9EVTJNakJhR0E4eU1USTJNVEF5T0RFNApOVFl5TUZvd0VqRVFNQTRHQTFVRUF3d0hZVzV2ZEdobGNqQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VICkEwSUFCQTBIMVo3R2J2dDduTmM5MHlTcmpDOXRGQTNIVDhMRnNpL3NpT1F6V3l6cUhUbU8wQjgzVE5DVDNVakcKcFdHN3VDeE9kTHlLM3prN1ZFRW0xcHFRbGJDalV6QlJNQjBHQTFVZERnUVdCQlJqVVg2QmZRY2NQZUtLbCtCYwo4WG9jWWgzNWZUQWZCZ05WSFNNRUdEQVdnQlJqVVg2QmZRY2NQZUtLbCtCYzhYb2NZaDM1ZlRBUEJnTlZIUk1CCkFmOEVCVEFEQVFIL01Bb0dDQ3FHU000OUJBTUNBMGtBTUVZQ0lRQ1BQL3V6Y25KVHZBMjhXc3hxbk1wOVM3Z2cKd0hBOE13b1hLNjhHT25uNlB3SWhBT3BkU2pFQU5QZ3plMFp2Vjd0Mjd5b05CNVZzM1hJMUl1dUhVZkFVbWhVNAotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg=="
