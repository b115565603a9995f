package prepare

import (
	"syscall"
	"time"
)

// computing is the computing time of this process.
func computing() (time.Duration, error) {
	process, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0, err
	}
	var created, exited, kernel, user syscall.Filetime
	err = syscall.GetProcessTimes(process, &created, &exited, &kernel, &user)
	return ticks(kernel) + ticks(user), err
}

// ticks is a time span of Windows, which counts in 100 ns.
func ticks(span syscall.Filetime) time.Duration {
	return 100 * time.Duration(int64(span.HighDateTime)<<32|int64(span.LowDateTime))
}
