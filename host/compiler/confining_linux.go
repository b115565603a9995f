package compiler

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// File access rights of Landlock.
//
// See https://docs.kernel.org/userspace-api/landlock.html
const (
	readingFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	allFiles     = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // of the first version
	writingFiles = allFiles &^ readingFiles

	versionOfRefer, versionOfTruncate, versionOfNetwork = 2, 3, 4
)

// start starts the process from a thread that can write files only in one directory. The
// process inherits this restriction. The thread ends.
func start(cmd *exec.Cmd, dir string) error {
	started := make(chan error)
	go func() { // Waited for below.
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := restrict(dir, writingFiles, 0, func(trap, a, b, c uintptr) syscall.Errno {
			_, _, errno := syscall.RawSyscall6(trap, a, b, c, 0, 0, 0)
			return errno
		})
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	err := <-started
	if err == nil {
		firstToDie(cmd.Process.Pid)
	}
	return err
}

// confine restricts this process for the rest of its life: it can access files only in one
// directory, and cannot connect. Open files stay open. In programs that are linked with C,
// it does nothing, because Go does not know all their threads.
func confine(dir string) error {
	const network = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	err := restrict(dir, allFiles, network, func(trap, a, b, c uintptr) syscall.Errno {
		_, _, errno := syscall.AllThreadsSyscall6(trap, a, b, c, 0, 0, 0)
		return errno
	})
	if errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// restrict drops rights by a system call for one thread or for all, except those for files
// in one directory. Without Landlock, it does nothing: other restrictions remain.
func restrict(dir string, files, network uint64, call func(trap, a, b, c uintptr) syscall.Errno) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return nil
	}
	if version >= versionOfRefer {
		files |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= versionOfTruncate {
		files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version < versionOfNetwork {
		network = 0
	}
	handled := unix.LandlockRulesetAttr{Handled_access_fs: files, Handled_access_net: network}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), unsafe.Sizeof(handled), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	defer func() { _ = unix.Close(int(rules)) }()
	folder, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	defer func() { _ = unix.Close(folder) }()
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: files, Parent_fd: int32(folder)}
	_, _, errno = unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno == 0 {
		errno = call(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
	}
	if errno == 0 {
		errno = call(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0)
	}
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}
