package reactortest

import (
	"bytes"
	"sync"
)

// Output collects what loggers write. Its methods are safe for concurrent use.
type Output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns what has been written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
