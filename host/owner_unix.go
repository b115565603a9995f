//go:build unix

package host

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs tells whether a file belongs to the user of the process.
func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
