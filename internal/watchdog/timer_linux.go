package watchdog

import (
	"syscall"
	"time"
	"unsafe"
)

const supported = true

// timer is a timer of the system that sends SIGABRT when it expires.
type timer struct{ id int32 }

// processTime is CLOCK_PROCESS_CPUTIME_ID.
const processTime = 2

// event is struct sigevent of the system.
type event struct {
	value  uintptr
	signal int32
	notify int32
	thread int32
	rest   [44]byte
}

// spec is struct itimerspec.
type spec struct{ interval, value syscall.Timespec }

// toThread is SIGEV_THREAD_ID: the signal goes to one thread of the process.
const toThread = 4

// newTimer creates a timer that is not armed. Its signal goes to this thread: the Go runtime
// could not unwind the machine code on the thread that is stuck.
//
// See https://man7.org/linux/man-pages/man2/timer_create.2.html
func newTimer() (*timer, error) {
	t, e := &timer{}, &event{signal: int32(syscall.SIGABRT), notify: toThread, thread: int32(syscall.Gettid())}
	_, _, errno := syscall.Syscall(syscall.SYS_TIMER_CREATE, processTime, uintptr(unsafe.Pointer(e)), uintptr(unsafe.Pointer(&t.id)))
	if errno != 0 {
		return nil, errno
	}
	return t, nil
}

// wind arms the timer to expire after an amount of computing time from now.
func (t *timer) wind(after time.Duration) error {
	s := &spec{value: syscall.NsecToTimespec(int64(after))}
	_, _, errno := syscall.Syscall6(syscall.SYS_TIMER_SETTIME, uintptr(t.id), 0, uintptr(unsafe.Pointer(s)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// stop deletes the timer.
func (t *timer) stop() {
	// The only possible error is an unknown timer.
	_, _, _ = syscall.Syscall(syscall.SYS_TIMER_DELETE, uintptr(t.id), 0, 0)
}
