//go:build unix

package processors

import (
	"syscall"
	"time"
)

// computed returns the computing time of the process.
func computed() (time.Duration, bool) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, false
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), true
}
