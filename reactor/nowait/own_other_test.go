//go:build !linux

package nowait_test

const hasOwnCalls = false
