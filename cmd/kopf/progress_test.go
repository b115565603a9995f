package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgressIsShownWhereItIsRead(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	if progress(writer, false) != nil || progress(&bytes.Buffer{}, false) != nil {
		t.Error("progress is shown in the log of an operator")
	}
	if progress(writer, true) == nil {
		t.Error("a pipe has no lines")
	}
}

// shown is what a meter writes for the states of a transfer, each some seconds after the one before.
func shown(width func() int, states ...[3]int64) string {
	var out bytes.Buffer
	now := time.Unix(1, 0)
	m := &meter{to: &out, width: width, now: func() time.Time { return now }}
	for _, s := range states {
		now = now.Add(time.Duration(s[0]) * time.Second)
		m.show("ghcr.io/me/operator:v1", s[1], s[2])
	}
	return out.String()
}

func TestProgressOnATerminal(t *testing.T) {
	wide, small := func() int { return 80 }, func() int { return 40 }
	tests := []struct {
		name   string
		width  func() int
		states [][3]int64
		want   string
	}{
		{
			"a transfer", wide,
			[][3]int64{{0, 0, 4_000_000}, {0, 1, 4_000_000}, {2, 1_000_000, 4_000_000}, {6, 4_000_000, 4_000_000}},
			"\rghcr.io/me/operator:v1 0.0 of 4.0 MB\x1b[K" +
				"\rghcr.io/me/operator:v1 1.0 of 4.0 MB, 0.5 MB/s, 6 s left\x1b[K" +
				"\rghcr.io/me/operator:v1 4.0 MB in 8 s, 0.5 MB/s\x1b[K\n",
		},
		{
			"a narrow terminal", small,
			[][3]int64{{0, 0, 4_000_000}, {2, 1_000_000, 4_000_000}},
			"\rghcr.io/me/operator:v1 0.0 of 4.0 MB\x1b[K\r…r:v1 1.0 of 4.0 MB, 0.5 MB/s, 6 s left\x1b[K",
		},
		{"nothing to transfer", wide, [][3]int64{{0, 0, 0}}, "\rghcr.io/me/operator:v1 0.0 MB in 0 s\x1b[K\n"},
		{
			"a resumed transfer", wide,
			[][3]int64{{0, 3_000_000, 4_000_000}, {1, 3_500_000, 4_000_000}},
			"\rghcr.io/me/operator:v1 3.0 of 4.0 MB\x1b[K\rghcr.io/me/operator:v1 3.5 of 4.0 MB, 0.5 MB/s, 1 s left\x1b[K",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, shown(tt.width, tt.states...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgressInAPipe(t *testing.T) {
	tests := []struct {
		name   string
		states [][3]int64
		want   string
	}{
		{"a short transfer is silent", [][3]int64{{0, 0, 4_000_000}, {1, 4_000_000, 4_000_000}}, ""},
		{
			"a long one",
			[][3]int64{{0, 0, 40_000_000}, {3, 3_000_000, 40_000_000}, {3, 6_000_000, 40_000_000}, {10, 16_000_000, 40_000_000}, {64, 40_000_000, 40_000_000}},
			"ghcr.io/me/operator:v1: 3.0 of 40.0 MB, 1.0 MB/s, 37 s left\n" +
				"ghcr.io/me/operator:v1: 16.0 of 40.0 MB, 1.0 MB/s, 24 s left\n" +
				"ghcr.io/me/operator:v1: 40.0 MB in 1 min 20 s, 0.5 MB/s\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, shown(nil, tt.states...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestQuietVerbsSayNothing: each verb that shows progress has the flag.
func TestQuietVerbsSayNothing(t *testing.T) {
	root := newRootCmd(nil, &bytes.Buffer{}, &bytes.Buffer{})
	for _, name := range []string{"annotate", "build", "dev", "explain", "inspect", "invoke", "manifest", "pull", "push", "replay", "run", "save", "serve", "test"} {
		cmd, _, err := root.Find([]string{name})
		if err != nil || cmd.Flags().Lookup("quiet") == nil {
			t.Errorf("kopf %s has no flag --quiet", name)
		}
	}
}
