package compiler

import (
	"bytes"
	"fmt"
	"os"
)

// thisProgram is the running program, even if its file was replaced meanwhile.
func thisProgram() (string, error) { return "/proc/self/exe", nil }

// firstToDie lets the system choose a process when memory runs out. It is a courtesy.
func firstToDie(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)
}

// dataNow is what counts against the limit of memory already, in bytes.
func dataNow() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("\nVmData:"))
	var kib uint64
	if _, err := fmt.Sscan(string(rest), &kib); err != nil {
		return 0
	}
	return kib << 10
}
