package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress returns a function that draws a bar for a transfer, or nil if the output is not a
// terminal.
func progress(stderr io.Writer) func(done, total int64) {
	f, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return bar(f)
}

// bar draws a bar on one line, at a limited rate.
func bar(to io.Writer) func(done, total int64) {
	const width = 30
	var mu sync.Mutex
	var drawn time.Time
	return func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		full := done >= total
		if !full && time.Since(drawn) < 100*time.Millisecond {
			return
		}
		drawn = time.Now()
		cells := width
		if total > 0 {
			cells = int(min(done, total) * width / total)
		}
		fmt.Fprintf(to, "\r[%s%s] %.1f of %.1f MB", strings.Repeat("=", cells), strings.Repeat(" ", width-cells), float64(done)/1e6, float64(total)/1e6)
		if full {
			fmt.Fprintln(to)
		}
	}
}
