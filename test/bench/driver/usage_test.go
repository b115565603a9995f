package main

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	tests := []struct {
		name, text string
		want       stat
		bad        bool
	}{
		{
			name: "a name with blanks and parentheses",
			text: "42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 50 60 70 80 20 0 1 0 100 1000 10",
			want: stat{parent: 7, reaped: 1500 * time.Millisecond},
		},
		{name: "cut", text: "42 (a) S 7 42", bad: true},
		{name: "no number", text: "42 (a) S x 42 42 0 -1 4194560 1 2 3 4 50 60 70 80 20 0", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseStat(tt.text)
			if (err != nil) != tt.bad || got != tt.want {
				t.Errorf("got %+v, %v; want %+v, an error: %t", got, err, tt.want, tt.bad)
			}
		})
	}
}

func TestParseMachine(t *testing.T) {
	got := parseMachine("cpu  100 20 30 4000 500 6 7 8 0 0\ncpu0 1 1 1 1\n")
	if want := 1710 * time.Millisecond; got != want {
		t.Errorf("got %v, want %v: without idleness and waiting", got, want)
	}
}

// The time of children counts when they live and when they are gone.
func TestOwnUsage(t *testing.T) {
	before := cpuTime(os.Getpid())
	child := exec.Command("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; read x")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil { // it has computed, and lives
		t.Fatal(err)
	}
	if !slices.Contains(tree(os.Getpid()), child.Process.Pid) {
		t.Error("the child is not in the tree")
	}
	alone := processTime(child.Process.Pid)
	if alone <= 0 {
		t.Error("the child has used no time")
	}
	if used := cpuTime(os.Getpid()) - before; used < alone {
		t.Errorf("both have used %v, the child alone %v", used, alone)
	}
	stdin.Close()
	if err := child.Wait(); err == nil {
		t.Error("read at the end of the input: want an exit code")
	}
	if used := cpuTime(os.Getpid()) - before; used < alone-2*tick { // now in ticks
		t.Errorf("both have used %v, the ended child alone %v", used, alone)
	}
	if m := memoryOf(os.Getpid()); m.Peak <= 0 || m.PSS <= 0 {
		t.Errorf("memory: %+v", m)
	}
}
