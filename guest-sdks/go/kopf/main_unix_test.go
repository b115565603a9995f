//go:build unix && !tinygo

package kopf

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMain is also the program of TestSignalsOfNativePrograms.
func TestMain(m *testing.M) {
	if os.Getenv("KOPF_TEST_NATIVE") != "" {
		Main()
	}
	os.Exit(m.Run())
}

// Shells let commands in the background ignore SIGINT.
func TestSignalsOfNativePrograms(t *testing.T) {
	program := filepath.Join(t.TempDir(), "kopf")
	script := "#!/bin/sh\ntrap 'exit 7' INT\ntrap 'exit 8' TERM\necho ready\nwhile :; do sleep 0.05; done\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		shell  string
		signal syscall.Signal
		want   int
	}{
		"SIGINT":                               {`exec "$0"`, syscall.SIGINT, 7},
		"SIGINT that was ignored at the start": {`trap "" INT; exec "$0"`, syscall.SIGINT, 7},
		"SIGTERM":                              {`exec "$0"`, syscall.SIGTERM, 8},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", tt.shell, os.Args[0])
			cmd.Env = append(os.Environ(), "KOPF_TEST_NATIVE=1", "KOPF="+program)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatalf("kopf printed %q: %v", line, err)
			}
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != tt.want {
				t.Errorf("the program ended with %v instead of the exit code %d of kopf", err, tt.want)
			}
		})
	}
}
