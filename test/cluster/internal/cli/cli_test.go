package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRunFlags(t *testing.T) {
	defaults := Options{Dir: "d", Controllers: true, StartTimeout: 2 * time.Minute}
	tests := []struct {
		name string
		args string
		want func(o *Options)
	}{
		{"defaults", "--dir d", func(*Options) {}},
		{"audit", "--dir d --audit", func(o *Options) { o.Audit = true }},
		{"audit of some users", "--dir d --audit-users u1,u2", func(o *Options) { o.Audit, o.AuditUsers = true, "u1,u2" }},
		{"no controllers", "--dir d --controllers=false", func(o *Options) { o.Controllers = false }},
		{"for programs", "--dir d --no-fsync --remove --until-stdin-closes", func(o *Options) {
			o.NoFsync, o.Remove, o.UntilStdinCloses = true, true, true
		}},
		{"values", "--dir d --port 1234 --tokens t --start-timeout 5s", func(o *Options) {
			o.Port, o.Tokens, o.StartTimeout = 1234, "t", 5*time.Second
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got Options
			cmd := NewRunCommand(func(_ context.Context, o Options) error {
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
	cmd := NewRunCommand(func(context.Context, Options) error {
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
	cmd := NewEnvCommand()
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
