package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/operator"
)

// announced holds the announcements of a command line.
type announced struct {
	Namespaces     []string
	Name, Identity string
	Priority       int
	Lifetime       time.Duration
}

func TestFreezeAndResume(t *testing.T) {
	freeze := func(run announce) *cobra.Command { return newFreezeCmd(io.Discard, run) }
	resume := func(run announce) *cobra.Command { return newResumeCmd(io.Discard, run) }
	tests := []struct {
		name  string
		cmd   func(announce) *cobra.Command
		args  string
		env   map[string]string
		want  announced
		fails string
	}{
		{"freeze", freeze, "-n a -n b-* -P default -t 600", nil, announced{[]string{"a", "b-*"}, "default", "", 100, 10 * time.Minute}, ""},
		{"freeze all", freeze, "-A --peering x --lifetime 60 --priority 7 --id me --message why", nil, announced{nil, "x", "me", 7, time.Minute}, ""},
		{"freeze as a developer", freeze, "-A -P x -t 1 -p 7 --dev", nil, announced{nil, "x", "", 666, time.Second}, ""},
		{"freeze by variables", freeze, "-A", map[string]string{"KOPF_FREEZE_PEERING": "x", "KOPF_FREEZE_LIFETIME": "5"}, announced{nil, "x", "", 100, 5 * time.Second}, ""},
		{"freeze for ever", freeze, "-A --peering x --lifetime 10000000000 --id me", nil, announced{nil, "x", "me", 100, 100 * 365 * 24 * time.Hour}, ""},
		{"freeze for no time given", freeze, "-A -P x", nil, announced{}, "--lifetime SECONDS"},
		{"freeze what", freeze, "-A -t 5", nil, announced{}, "--peering NAME"},
		{"freeze everything and a namespace", freeze, "-A -n a -P x -t 5", nil, announced{}, "not both"},
		{"freeze with an argument", freeze, "-A -P x -t 5 now", nil, announced{}, `unexpected argument "now"`},
		{"freeze with a bad format", freeze, "-A -P x -t 5 --log-format xml", nil, announced{}, "--log-format"},
		{"resume", resume, "-n a -P default -i me", nil, announced{[]string{"a"}, "default", "me", 0, 0}, ""},
		{"resume by variables", resume, "-A", map[string]string{"KOPF_RESUME_PEERING": "x"}, announced{nil, "x", "", 0, 0}, ""},
		{"resume what", resume, "-A", nil, announced{}, "--peering NAME"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			var got announced
			cmd := tt.cmd(func(_ context.Context, a operator.Announcement) error {
				got = announced{a.Namespaces, a.Name, a.Identity, a.Priority, a.Lifetime}
				return nil
			})
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(strings.Fields(tt.args))
			err := cmd.Execute()
			var usage usageError
			if tt.fails != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), tt.fails)) || tt.fails == "" && err != nil {
				t.Fatalf("error: %v, want %q", err, tt.fails)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("announced (-want +got):\n%s", diff)
			}
		})
	}
}

// Only the flags that are given override the settings.
func TestPeersOfRun(t *testing.T) {
	yes, no, low, dev := true, false, -3, devPriority
	tests := []struct {
		args string
		want operator.Peering
	}{
		{"", operator.Peering{}},
		{"--standalone", operator.Peering{Standalone: &yes}},
		{"--standalone=false", operator.Peering{Standalone: &no}},
		{"-P x -p -3", operator.Peering{Name: "x", Priority: &low}},
		{"--peering x --priority -3 --dev", operator.Peering{Name: "x", Priority: &dev}},
	}
	for _, tt := range tests {
		o, cmd := &runOptions{}, &cobra.Command{}
		o.addFlags(cmd)
		if err := cmd.ParseFlags(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, o.peers()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.args, diff)
		}
	}
}
