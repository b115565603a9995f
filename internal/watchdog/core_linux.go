package watchdog

import "syscall"

// noCore prevents a core dump of the process: it would have the secrets of operators. The size 1
// also keeps the kernel from passing the dump to a program.
//
// See https://man7.org/linux/man-pages/man5/core.5.html
func noCore() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) != nil {
		return // then the administrator's limit remains
	}
	limit.Cur = min(1, limit.Max)
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // a soft limit can always be lowered
}
