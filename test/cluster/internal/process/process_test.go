package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary play the processes of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "obedient":
		AwaitParent()
		fmt.Println("released")
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		AwaitParent()
		fmt.Println("released")
		select {}
	case "failing":
		AwaitParent()
		fmt.Println("cannot go on")
		os.Exit(3)
	case "parent":
		playParent(os.Args[2])
	default:
		os.Exit(m.Run())
	}
}

// playParent starts a child, says its id, and waits to be killed.
func playParent(log string) {
	child, err := Start(spec("stubborn", log))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := child.Release(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(child.cmd.Process.Pid)
	select {}
}

func spec(role, log string) Spec {
	return Spec{Name: role, Program: os.Args[0], Args: []string{role}, Log: log}
}

func start(t *testing.T, role string) *Component {
	t.Helper()
	component, err := Start(spec(role, filepath.Join(t.TempDir(), "log")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { component.Stop(0) })
	return component
}

func TestChildWaitsForRelease(t *testing.T) {
	child := start(t, "obedient")
	time.Sleep(50 * time.Millisecond) // long enough for a child that does not wait
	if log := readLog(t, child); log != "" {
		t.Fatalf("before Release: got output %q", log)
	}
	if err := child.Release(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "output after Release", func() bool { return readLog(t, child) == "released\n" })
}

func TestStop(t *testing.T) {
	tests := []struct {
		role  string
		grace time.Duration
	}{
		{"obedient", time.Minute}, // must not be used up
		{"stubborn", 20 * time.Millisecond},
		{"obedient", 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.role, tt.grace), func(t *testing.T) {
			child := start(t, tt.role)
			if err := child.Release(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "output", func() bool { return readLog(t, child) != "" })
			begin := time.Now()
			child.Stop(tt.grace)
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("Stop took %v", took)
			}
			if alive(child.cmd.Process.Pid) {
				t.Error("the child is alive after Stop")
			}
		})
	}
}

func TestFailureIsExplained(t *testing.T) {
	child := start(t, "failing")
	if err := child.Release(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-child.Exited():
	case <-time.After(time.Minute):
		t.Fatal("the child still runs")
	}
	got := child.Err().Error()
	for _, want := range []string{"failing: ended by itself: exit status 3", child.spec.Log, "  cannot go on"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want it to contain %q", got, want)
		}
	}
}

func TestReleaseOfDeadChild(t *testing.T) {
	child := start(t, "obedient")
	child.Stop(0)
	if err := child.Release(); err == nil {
		t.Error("got no error")
	}
}

func TestChildrenDieWithKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0], "parent", filepath.Join(t.TempDir(), "log"))
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent says: %s", line)
	}
	if !alive(child) {
		t.Fatal("the child is not alive")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // reports the kill
	eventually(t, "end of the child", func() bool { return !alive(child) })
}

// alive tells whether a process runs. A zombie, which waits for a parent to
// notice its end, does not.
func alive(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !strings.Contains(string(status), "State:\tZ")
}

func readLog(t *testing.T, c *Component) string {
	t.Helper()
	text, err := os.ReadFile(c.spec.Log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for range 1000 {
		if check() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %s in time", what)
}
