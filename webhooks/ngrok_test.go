package webhooks

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/programtest"
)

// program writes a stand-in for ngrok: a shell script.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ngrok")
	programtest.Write(t, path, script)
	return path
}

// standIn notes how it was called, opens a "tunnel", and ends with a signal.
const standIn = `
printf '%s\n' "$* token=$NGROK_AUTHTOKEN" > "$0.args"
sleep 60 &
trap 'echo stopped > "$0.stopped"; kill $!; exit 0' TERM
echo '{"lvl":"info","msg":"client session established"}'
echo 'not JSON'
echo '{"lvl":"info","msg":"started tunnel","url":"https://abc.ngrok.example"}'
echo '{"lvl":"info","msg":"started tunnel","url":"https://second.ngrok.example"}'
wait
`

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestNgrokTunnel(t *testing.T) {
	binary := program(t, standIn)
	ctx, cancel := context.WithCancel(t.Context())
	announced, ended := make(chan ClientConfig, 2), make(chan error, 1)
	tunnel := NgrokTunnel{Path: "hooks", Token: "secret", Region: "eu", Binary: binary}.bind(Environment{Log: zerolog.Nop()})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) })
	go func() { ended <- tunnel.Serve(ctx, handler, func(c ClientConfig) { announced <- c }) }()
	var config ClientConfig
	select {
	case config = <-announced:
	case err := <-ended:
		t.Fatalf("ended with %v", err)
	}
	if *config.URL != "https://abc.ngrok.example/hooks" || config.CABundle != "" {
		t.Errorf("announced %s %q", *config.URL, config.CABundle)
	}
	args := strings.Fields(read(t, binary+".args"))
	if got := strings.Join(append(args[:1:1], args[2:]...), " "); got != "http --log stdout --log-format json --region eu token=secret" {
		t.Errorf("arguments %v", args)
	}
	rsp, err := http.Get("http://127.0.0.1:" + args[1] + "/hooks/some/id")
	if err != nil {
		t.Fatal(err)
	}
	rsp.Body.Close()
	if rsp.StatusCode != http.StatusOK {
		t.Errorf("the local end answers %s", rsp.Status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	if read(t, binary+".stopped") != "stopped" || len(announced) > 0 {
		t.Error("the program was not stopped in order, or more was announced")
	}
}

// remaining starts a child that lives for half a minute, or until the test has ended.
const remaining = `
(for i in 1 2 3 4 5 6 7 8 9 10; do [ -e "$0" ] && sleep 3; done; [ -e "$0" ] && echo over > "$0.over") &
`

// TestTunnelsWithChildren: a program may be a script that leaves the real one running, which keeps the output open. The tunnel does not
// wait for it.
func TestTunnelsWithChildren(t *testing.T) {
	for _, tt := range []struct{ name, end, want string }{
		{"stopped", "trap 'exit 0' TERM; wait", ""},
		{"it ends", "exit 2", "ngrok has ended (exit status 2): "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			binary := program(t, remaining+`echo '{"msg":"started tunnel","url":"https://x"}'; `+tt.end)
			ctx, cancel := context.WithCancel(t.Context())
			announce := func(ClientConfig) {
				if tt.want == "" {
					cancel()
				}
			}
			defer cancel()
			err := NgrokTunnel{Binary: binary}.bind(Environment{Log: zerolog.Nop()}).Serve(ctx, http.NotFoundHandler(), announce)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("ended with %v, want %q", err, tt.want)
			}
			if _, err := os.Stat(binary + ".over"); err == nil {
				t.Error("Serve has waited for the child")
			}
		})
	}
}

// TestBrokenTunnels: a program that is missing or ends is an error that says why.
func TestBrokenTunnels(t *testing.T) {
	for _, tt := range []struct{ name, binary, want string }{
		{"missing", "/nowhere/ngrok", "ngrok cannot be started (it must be installed, nothing is downloaded): "},
		{"it refuses", program(t, "echo 'authentication failed: no token'; exit 1"), "ngrok has not opened a tunnel in 30s (exit status 1): authentication failed: no token"},
		{"it ends later", program(t, `echo '{"msg":"started tunnel","url":"https://x"}'; echo bye; exit 2`), "ngrok has ended (exit status 2): bye"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			tunnel := NgrokTunnel{Binary: tt.binary}.bind(Environment{Log: zerolog.Nop()})
			err := tunnel.Serve(ctx, http.NotFoundHandler(), func(ClientConfig) {})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ended with %v, want %q", err, tt.want)
			}
		})
	}
}

// TestAutomaticServers choose the name of this machine, or a tunnel.
func TestAutomaticServers(t *testing.T) {
	binary := program(t, standIn)
	for _, tt := range []struct{ name, detected, server, want string }{
		{"a server in a known cluster", K3dHost, `auto-server`, "https://host.k3d.internal:"},
		{"a server elsewhere", "", `auto-server`, "https://localhost:"},
		{"no tunnel in a known cluster", MinikubeHost, `auto-tunnel`, "https://host.minikube.internal:"},
		{"a tunnel elsewhere", "", `auto-tunnel`, "https://abc.ngrok.example"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, err := ParseServer([]byte(`"`+tt.server+`"`), false)
			if err != nil {
				t.Fatal(err)
			}
			if auto, ok := server.(*AutoTunnel); ok {
				auto.Tunnel.Binary = binary
			}
			env := Environment{Log: zerolog.Nop(), Detect: func(context.Context) (string, error) { return tt.detected, nil }}
			ctx, cancel := context.WithCancel(t.Context())
			announced, ended := make(chan ClientConfig, 2), make(chan error, 1)
			go func() {
				ended <- bind(server, env).Serve(ctx, http.NotFoundHandler(), func(c ClientConfig) { announced <- c })
			}()
			select {
			case config := <-announced:
				if !strings.HasPrefix(*config.URL, tt.want) {
					t.Errorf("announced %s, want %s", *config.URL, tt.want)
				}
			case err := <-ended:
				t.Fatalf("ended with %v", err)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	}
}
