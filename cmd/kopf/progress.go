package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// When progress is shown.
const (
	drawing  = 100 * time.Millisecond // between two pictures on a terminal
	patience = 2 * time.Second        // before the first line in a pipe: most transfers are over by then
	silence  = 10 * time.Second       // between two lines in a pipe
)

// narrow is the width of terminals that do not say theirs.
const narrow = 80

// meter shows how far transfers are: on one line of a terminal, or in lines of a pipe.
type meter struct {
	to    io.Writer
	width func() int // of the terminal; nil: it is a pipe
	now   func() time.Time

	mu    sync.Mutex // guards the fields below
	name  string     // of the present transfer
	from  int64      // where it has begun: it may continue an earlier one
	began time.Time
	shown time.Time // the last picture or line; zero: none
}

// progress returns a function that shows transfers, or nil if it would show nothing: in a pipe
// without lines.
func progress(stderr io.Writer, lines bool) func(name string, done, total int64) {
	m := &meter{to: stderr, now: time.Now}
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		m.width = func() int {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
				return width
			}
			return narrow
		}
	} else if !lines {
		return nil
	}
	return m.show
}

// show takes the state of a transfer.
func (m *meter) show(name string, done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if name != m.name || m.began.IsZero() {
		m.name, m.from, m.began, m.shown = name, done, now, time.Time{}
	}
	full := done >= total
	if m.width != nil {
		m.draw(now, done, total, full)
	} else {
		m.line(now, done, total, full)
	}
	if full {
		m.began = time.Time{} // the next transfer of this name is another one
	}
}

// draw replaces the line of a terminal.
func (m *meter) draw(now time.Time, done, total int64, full bool) {
	if !full && !m.shown.IsZero() && now.Sub(m.shown) < drawing {
		return
	}
	m.shown = now
	text := m.text(now, done, total, full)
	room := m.width() - len([]rune(text)) - 2
	name := []rune(legible.Line(m.name))
	if len(name) > max(room, 1) { // the end of a name distinguishes it
		name = append([]rune("…"), name[len(name)-max(room, 1)+1:]...)
	}
	fmt.Fprintf(m.to, "\r%s %s\x1b[K", string(name), text)
	if full {
		fmt.Fprintln(m.to)
	}
}

// line writes a line, if the last one was some time ago.
func (m *meter) line(now time.Time, done, total int64, full bool) {
	since := now.Sub(m.shown)
	if m.shown.IsZero() {
		since = now.Sub(m.began) + silence - patience
	}
	if since < silence && (!full || m.shown.IsZero()) {
		return
	}
	m.shown = now
	fmt.Fprintf(m.to, "%s: %s\n", legible.Line(m.name), m.text(now, done, total, full))
}

// text says how far the transfer is, how fast, and when it ends.
func (m *meter) text(now time.Time, done, total int64, full bool) string {
	spent := now.Sub(m.began)
	rate := 0.0 // bytes per second
	if moved := done - m.from; moved > 0 && spent > 0 {
		rate = float64(moved) / spent.Seconds()
	}
	var parts []string
	if full {
		parts = append(parts, megabytes(total)+" MB in "+seconds(spent))
	} else {
		parts = append(parts, megabytes(done)+" of "+megabytes(total)+" MB")
	}
	if rate > 0 {
		parts = append(parts, fmt.Sprintf("%.1f MB/s", rate/1e6))
		if !full {
			parts = append(parts, seconds(time.Duration(float64(total-done)/rate*float64(time.Second)))+" left")
		}
	}
	return strings.Join(parts, ", ")
}

func megabytes(size int64) string { return fmt.Sprintf("%.1f", float64(size)/1e6) }

// seconds is a time for people: 8 s, 2 min 5 s.
func seconds(d time.Duration) string {
	total := int64(d.Round(time.Second) / time.Second)
	if total < 60 {
		return fmt.Sprintf("%d s", total)
	}
	return fmt.Sprintf("%d min %d s", total/60, total%60)
}
