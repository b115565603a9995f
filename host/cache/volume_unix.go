//go:build linux || darwin

package cache

import "syscall"

// volumeOf returns the size of the volume that a directory is on, in bytes; 0 if it is unknown.
func volumeOf(dir string) int64 {
	var volume syscall.Statfs_t
	if syscall.Statfs(dir, &volume) != nil {
		return 0
	}
	return int64(volume.Blocks) * int64(volume.Bsize) //nolint:unconvert // other systems have other types
}
