package store

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile waits for a lock of a file, which ends when the file is closed.
//
// See https://learn.microsoft.com/en-us/windows/win32/api/fileapi/nf-fileapi-lockfileex
func lockFile(f *os.File, alone bool) error {
	var flags uint32
	if alone {
		flags = windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	const all = ^uint32(0) // the range of bytes
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, all, all, new(windows.Overlapped))
}
