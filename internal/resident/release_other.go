//go:build !linux

package resident

func release() (uint64, error) { return 0, nil }
