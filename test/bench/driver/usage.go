package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of CPU times in /proc: sysconf(_SC_CLK_TCK) is 100 on Linux.
const tick = 10 * time.Millisecond

// stat is what the driver reads of /proc/PID/stat.
//
// See https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
type stat struct {
	parent int
	reaped time.Duration // CPU time of children that have ended and were waited for
}

func parseStat(text string) (stat, error) {
	// The name of the program, in parentheses, may contain anything.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("only %d fields", len(fields))
	}
	var numbers [3]int
	for i, at := range []int{1, 13, 14} { // ppid, cutime, cstime
		n, err := strconv.Atoi(fields[at])
		if err != nil {
			return stat{}, err
		}
		numbers[i] = n
	}
	return stat{numbers[0], time.Duration(numbers[1]+numbers[2]) * tick}, nil
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(text))
}

// tree lists processes and their living descendants.
func tree(roots ...int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return roots
	}
	children := map[int][]int{}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if s, err := readStat(pid); err == nil { // otherwise it has just ended
				children[s.parent] = append(children[s.parent], pid)
			}
		}
	}
	list := slices.Clone(roots)
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i]]...)
	}
	return list
}

// cpuTime is what processes and their descendants have used, living or not.
func cpuTime(roots ...int) time.Duration {
	var sum time.Duration
	for _, pid := range tree(roots...) {
		sum += processTime(pid)
		if s, err := readStat(pid); err == nil {
			sum += s.reaped
		}
	}
	return sum
}

// processTime is what the threads of one process have used, ended ones included. Its
// clock is the one that clock_getcpuclockid(3) makes: in nanoseconds, not in ticks.
func processTime(pid int) time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &used); err != nil {
		return 0 // it has just ended
	}
	return time.Duration(used.Nano())
}

// machineTime is the CPU time of everybody on this machine.
func machineTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parseMachine(string(text))
}

// parseMachine adds user, nice, system, irq, softirq and steal of /proc/stat.
func parseMachine(text string) time.Duration {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	var sum time.Duration
	for _, at := range []int{1, 2, 3, 6, 7, 8} {
		if at < len(fields) {
			n, _ := strconv.Atoi(fields[at]) // not a number: no such kernel
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// memory is what processes and their descendants hold, in MiB.
type memory struct {
	Peak float64 // resident, the most since it was reset
	PSS  float64 // resident, with shared pages counted in parts
}

func memoryOf(roots ...int) memory {
	var m memory
	for _, pid := range tree(roots...) {
		m.Peak += mebibytes(fmt.Sprintf("/proc/%d/status", pid), "VmHWM:")
		m.PSS += mebibytes(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
	}
	return m
}

// resetPeak restarts the measurement of the peak of resident memory.
//
// See https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html
func resetPeak(roots ...int) {
	for _, pid := range tree(roots...) {
		// Where it is not allowed, the peak is that of the whole life.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	}
}

// mebibytes is the number of a line of a file in /proc; 0 if there is none.
func mebibytes(path, key string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == key {
			n, _ := strconv.ParseFloat(fields[1], 64) // kB; not a number: no such kernel
			return n / 1024
		}
	}
	return 0
}
