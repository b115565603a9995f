//go:build !linux

package linear

// reservesOpen: memory is reserved without access, and opened as it is used.
const reservesOpen = false

// maxMapCount: the system does not say.
func maxMapCount() int64 { return 0 }

func withoutHugePages([]byte) {}
