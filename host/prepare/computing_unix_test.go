//go:build unix

package prepare

import (
	"syscall"
	"time"
)

// computing is the computing time of this process.
func computing() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
