package webhooks

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// NgrokTunnel makes a server on this machine reachable for the API server through ngrok, a
// program and a service. The program must be installed: the host does not download it.
//
// Each client that knows the URL can send requests to the operator.
//
// Kopf: kopf.WebhookNgrokTunnel (v1.45).
type NgrokTunnel struct {
	Addr   string // listen address of the local end; empty: the loopback interface
	Port   int    // 0: any free one
	Path   string
	Token  string // of the ngrok account; empty: from the configuration of the program
	Region string // of the public end
	Binary string // path of the program; default: "ngrok" in the PATH

	env Environment
}

func (t NgrokTunnel) bind(env Environment) Server {
	t.env = env
	return &t
}

// startTimeout bounds the time until the program reports the public URL.
const startTimeout = 30 * time.Second

// Serve runs the local end and the program until the context ends. If one of them ends,
// Serve stops the other one.
func (t *NgrokTunnel) Serve(ctx context.Context, handler http.Handler, announce func(ClientConfig)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	local := &LocalServer{Addr: cmp.Or(t.Addr, "127.0.0.1"), Port: t.Port, Path: t.Path, Insecure: true, env: t.env}
	ready, ended := make(chan ClientConfig, 1), make(chan error, 1)
	go func() { // Waited for below.
		defer stop()
		ended <- local.Serve(ctx, handler, func(config ClientConfig) { ready <- config })
	}()
	select {
	case err := <-ended:
		return err
	case config := <-ready:
		err := t.tunnel(ctx, *config.URL, announce)
		stop()
		return errors.Join(err, <-ended)
	}
}

// tunnel runs the program until it ends or the context ends.
func (t *NgrokTunnel) tunnel(ctx context.Context, local string, announce func(ClientConfig)) error {
	target, err := url.Parse(local)
	if err != nil {
		return err
	}
	args := []string{"http", target.Port(), "--log", "stdout", "--log-format", "json"}
	if t.Region != "" {
		args = append(args, "--region", t.Region)
	}
	cmd := exec.CommandContext(ctx, cmp.Or(t.Binary, "ngrok"), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = exitTimeout
	if t.Token != "" {
		cmd.Env = append(cmd.Environ(), "NGROK_AUTHTOKEN="+t.Token) // not in the arguments, which all users of the machine can see
	}
	output, into := io.Pipe()
	cmd.Stdout = into
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("ngrok cannot be started (it must be installed, nothing is downloaded): %w", err)
	}
	ended := make(chan error, 1)
	go func() { // Waited for below. A child of the program may keep the output: Wait gives it up.
		err := cmd.Wait()
		_ = into.Close() // it cannot fail
		ended <- err
	}()
	known, last := t.follow(cmd, output, announce)
	err = <-ended
	switch {
	case ctx.Err() != nil:
		return nil
	case !known:
		return fmt.Errorf("ngrok has not opened a tunnel in %v (%w): %s", startTimeout, err, last)
	}
	return fmt.Errorf("ngrok has ended (%w): %s", err, last)
}

// follow reads the output of the program to its end. It announces the public URL, and kills
// a program that reports none in time. It returns the last line for error messages.
func (t *NgrokTunnel) follow(cmd *exec.Cmd, output io.Reader, announce func(ClientConfig)) (known bool, last string) {
	late := time.AfterFunc(startTimeout, func() { _ = cmd.Process.Kill() }) // the program may have ended already
	defer late.Stop()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		last = cut(lines.Text())
		if public := publicURL(lines.Bytes()); public != "" && !known {
			late.Stop()
			known = true
			public += (&url.URL{Path: (&LocalServer{Path: t.Path}).root()}).EscapedPath()
			t.env.Log.Debug().Msg("Accessing the webhooks at " + public)
			announce(ClientConfig{URL: &public})
		}
	}
	_, _ = io.Copy(io.Discard, output) // in case a line was too long
	return known, last
}

// maxURL bounds the public URL, in bytes.
const maxURL = 1000

// publicURL returns the URL in a line of the program's log, or an empty text.
//
// See https://ngrok.com/docs/agent/config/ (log formats).
func publicURL(line []byte) string {
	var entry struct {
		Message string `json:"msg"`
		URL     string `json:"url"`
	}
	if json.Unmarshal(line, &entry) != nil || entry.Message != "started tunnel" || len(entry.URL) > maxURL {
		return ""
	}
	public, err := url.Parse(entry.URL)
	if err != nil || public.Scheme != "https" || public.Host == "" || public.User != nil || public.RawQuery != "" || public.Fragment != "" {
		return ""
	}
	return strings.TrimRight(entry.URL, "/")
}
