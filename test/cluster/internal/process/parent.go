package process

import (
	"io"
	"os"
)

// AwaitParent is the child's side of Start: it returns when the parent calls
// Release. From then on the process exits with status 1 as soon as the parent
// is gone; it exits in here if the parent is gone before.
func AwaitParent() {
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		os.Exit(1)
	}
	go func() { // until the end of this process
		WaitClosed(os.Stdin)
		os.Exit(1)
	}()
}

// WaitClosed returns when the other side has closed the pipe.
func WaitClosed(pipe io.Reader) {
	_, _ = io.Copy(io.Discard, pipe) // an error is an end as well
}
