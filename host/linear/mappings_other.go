//go:build !linux

package linear

// reservesOpen is false: memory is reserved without access, and made accessible when it is
// used.
const reservesOpen = false

// maxMapCount is unknown on this system.
func maxMapCount() int64 { return 0 }

func withoutHugePages([]byte) {}
