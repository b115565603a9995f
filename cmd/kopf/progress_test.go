package main

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/operator"
)

func TestProgressIsShownWhereItIsRead(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	for _, o := range []registryOptions{{}, {silent: true}, {silent: true, lines: true}} {
		if o.progress(writer) != nil {
			t.Errorf("progress is shown for %+v", o)
		}
	}
	if o := (registryOptions{lines: true}); o.progress(writer) == nil {
		t.Error("a pipe has no lines")
	}
}

// state is what a transfer reports some seconds after the report before it. Over: it has ended.
type state struct {
	after       int
	of          string
	done, total int64
	over        bool
}

const operatorV1 = "ghcr.io/me/operator:v1"

// at is a state of a transfer, and over is its end.
func at(after int, done, total int64) state {
	return state{after: after, of: operatorV1, done: done, total: total}
}

var over = state{of: operatorV1, over: true}

// shown is what a meter writes for the states of transfers.
func shown(width func() int, states ...state) string {
	var out bytes.Buffer
	now := time.Unix(1, 0)
	m := &meter{to: &out, width: width, now: func() time.Time { return now }}
	moved, ended := map[string]func(done, total int64){}, map[string]func(){}
	for _, s := range states {
		if moved[s.of] == nil {
			moved[s.of], ended[s.of] = m.transfer(s.of)
		}
		now = now.Add(time.Duration(s.after) * time.Second)
		if s.over {
			ended[s.of]()
		} else {
			moved[s.of](s.done, s.total)
		}
	}
	return out.String()
}

func TestProgressOnATerminal(t *testing.T) {
	wide, small := func() int { return 80 }, func() int { return 40 }
	tests := []struct {
		name   string
		width  func() int
		states []state
		want   string
	}{
		{
			"a transfer", wide,
			[]state{at(0, 0, 4_000_000), at(0, 1, 4_000_000), at(2, 1_000_000, 4_000_000), at(6, 4_000_000, 4_000_000), over},
			"\rghcr.io/me/operator:v1 0.0 of 4.0 MB\x1b[K" +
				"\rghcr.io/me/operator:v1 1.0 of 4.0 MB, 0.5 MB/s, 6 s left\x1b[K" +
				"\rghcr.io/me/operator:v1 4.0 of 4.0 MB, 0.5 MB/s, 0 s left\x1b[K" +
				"\rghcr.io/me/operator:v1 4.0 MB in 8 s, 0.5 MB/s\x1b[K\n",
		},
		{
			"a narrow terminal", small,
			[]state{at(0, 0, 4_000_000), at(2, 1_000_000, 4_000_000)},
			"\rghcr.io/me/operator:v1 0.0 of 4.0 MB\x1b[K\r…r:v1 1.0 of 4.0 MB, 0.5 MB/s, 6 s left\x1b[K",
		},
		{"nothing to transfer", wide, []state{at(0, 0, 0), over}, "\rghcr.io/me/operator:v1 0.0 of 0.0 MB\x1b[K\rghcr.io/me/operator:v1 0.0 MB in 0 s\x1b[K\n"},
		{
			"a resumed transfer", wide,
			[]state{at(0, 3_000_000, 4_000_000), at(1, 3_500_000, 4_000_000)},
			"\rghcr.io/me/operator:v1 3.0 of 4.0 MB\x1b[K\rghcr.io/me/operator:v1 3.5 of 4.0 MB, 0.5 MB/s, 1 s left\x1b[K",
		},
		{"a broken transfer, whose error has its own line", wide, []state{at(0, 0, 4_000_000), over, over}, "\rghcr.io/me/operator:v1 0.0 of 4.0 MB\x1b[K\n"},
		{"a transfer that has not begun", wide, []state{over}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, shown(tt.width, tt.states...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTransfersAtOnce: each has its own begin, speed and result, and the oldest one is shown.
func TestTransfersAtOnce(t *testing.T) {
	a := func(after int, done int64) state { return state{after: after, of: "a", done: done, total: 4_000_000} }
	b := func(after int, done int64) state { return state{after: after, of: "b", done: done, total: 8_000_000} }
	endOf := func(name string) state { return state{of: name, over: true} }
	states := []state{
		a(0, 0), b(2, 0), a(2, 2_000_000), b(2, 4_000_000), a(2, 4_000_000), endOf("a"), b(2, 8_000_000), endOf("b"),
	}
	for _, tt := range []struct {
		name  string
		width func() int
		want  string
	}{
		{
			"terminal", func() int { return 80 },
			"\ra 0.0 of 4.0 MB\x1b[K" +
				"\ra 0.0 of 4.0 MB; and 1 more\x1b[K" +
				"\ra 2.0 of 4.0 MB, 0.5 MB/s, 4 s left; and 1 more\x1b[K" +
				"\ra 2.0 of 4.0 MB, 0.3 MB/s, 6 s left; and 1 more\x1b[K" +
				"\ra 4.0 of 4.0 MB, 0.5 MB/s, 0 s left; and 1 more\x1b[K" +
				"\ra 4.0 MB in 8 s, 0.5 MB/s\x1b[K\n" +
				"\rb 8.0 of 8.0 MB, 1.0 MB/s, 0 s left\x1b[K" +
				"\rb 8.0 MB in 8 s, 1.0 MB/s\x1b[K\n",
		},
		{
			"pipe", nil,
			"a: 2.0 of 4.0 MB, 0.5 MB/s, 4 s left\n" +
				"b: 4.0 of 8.0 MB, 1.0 MB/s, 4 s left\n" +
				"a: 4.0 MB in 8 s, 0.5 MB/s\n" +
				"b: 8.0 MB in 8 s, 1.0 MB/s\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, shown(tt.width, states...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgressInAPipe(t *testing.T) {
	tests := []struct {
		name   string
		states []state
		want   string
	}{
		{"a short transfer is silent", []state{at(0, 0, 4_000_000), at(1, 4_000_000, 4_000_000), over}, ""},
		{
			"a long one",
			[]state{at(0, 0, 40_000_000), at(3, 3_000_000, 40_000_000), at(3, 6_000_000, 40_000_000), at(10, 16_000_000, 40_000_000), at(64, 40_000_000, 40_000_000), over},
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

// TestCompilationsCountDown: the engine reports nothing, so the time passes by itself.
func TestCompilationsCountDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		o := registryOptions{meter: &meter{to: &out, width: func() int { return 120 }, now: time.Now}}
		ended := o.compiling("some/op.py", &out)(operator.LongCompilation, 2*time.Second)
		time.Sleep(3500 * time.Millisecond)
		ended()
		const begin = "\rthe engine of op.py: compiling, once on this machine: "
		want := begin + "0 s, about 2 s left\x1b[K" + begin + "1 s, about 1 s left\x1b[K" +
			begin + "2 s, usually 2 s\x1b[K" + begin + "3 s, usually 2 s\x1b[K" + begin + "4 s\x1b[K\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestCompilationsAreAnnounced(t *testing.T) {
	const large = operator.LongCompilation
	for _, tt := range []struct {
		name string
		o    registryOptions
		size int
		want string
	}{
		{"in a pipe, in one line", registryOptions{lines: true}, large, "Compiling the engine of op.py, once on this machine. It takes about 1 min 5 s.\n"},
		{"not if it is short", registryOptions{lines: true}, large - 1, ""},
		{"not with --quiet", registryOptions{lines: true, silent: true}, large, ""},
	} {
		var out bytes.Buffer
		tt.o.compiling("op.py", &out)(tt.size, 65*time.Second)()
		if out.String() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, &out, tt.want)
		}
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
