package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

func TestRunFlags(t *testing.T) {
	defaults := runOptions{Dir: "d", Controllers: true, StartTimeout: 2 * time.Minute}
	tests := []struct {
		name string
		args string
		want func(o *runOptions)
	}{
		{"defaults", "--dir d", func(*runOptions) {}},
		{"audit", "--dir d --audit", func(o *runOptions) { o.Audit = true }},
		{"audit of some users", "--dir d --audit-users u1,u2", func(o *runOptions) { o.Audit, o.AuditUsers = true, "u1,u2" }},
		{"no controllers", "--dir d --controllers=false", func(o *runOptions) { o.Controllers = false }},
		{"for programs", "--dir d --no-fsync --remove --until-stdin-closes", func(o *runOptions) {
			o.NoFsync, o.Remove, o.UntilStdinCloses = true, true, true
		}},
		{"values", "--dir d --port 1234 --tokens t --start-timeout 5s", func(o *runOptions) {
			o.Port, o.Tokens, o.StartTimeout = 1234, "t", 5*time.Second
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got runOptions
			cmd := newRunCommand(func(_ context.Context, o runOptions) error {
				got = o
				return nil
			})
			cmd.SetArgs(strings.Fields(tt.args))
			if err := cmd.Execute(); err != nil {
				t.Fatal(err)
			}
			want := defaults
			tt.want(&want)
			got.Stdin, got.Stdout = nil, nil
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestRunRefusesWithoutDir(t *testing.T) {
	cmd := newRunCommand(func(context.Context, runOptions) error {
		return errors.New("was run")
	})
	cmd.SetArgs(nil)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetOut(&bytes.Buffer{})
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), `"dir"`) {
		t.Errorf("got %v, want the name of the flag", err)
	}
}

func TestEnvQuotes(t *testing.T) {
	var out bytes.Buffer
	cmd := newEnvCommand()
	cmd.SetArgs([]string{"--dir", "/tmp/it's"})
	cmd.SetOut(&out)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	want := `export KUBECONFIG='/tmp/it'\''s/admin.kubeconfig'` + "\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestListen(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken := busy.Addr().(*net.TCPAddr).Port

	if _, _, err := listen(taken, 0); err == nil {
		t.Error("wanted port is taken: got no error")
	}
	socket, port, err := listen(0, taken)
	if err != nil {
		t.Fatalf("last port is taken: %v", err)
	}
	if port == taken || port == 0 {
		t.Errorf("last port is taken: got port %d, want another one", port)
	}
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	again, got, err := listen(0, port)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got != port {
		t.Errorf("last port is free: got %d, want %d", got, port)
	}
}
