package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// When progress is shown.
const (
	drawing  = 100 * time.Millisecond // between two pictures on a terminal
	ticking  = time.Second            // between two pictures of work that reports nothing by itself
	patience = 2 * time.Second        // before the first line in a pipe: most transfers are over by then
	silence  = 10 * time.Second       // between two lines in a pipe
)

// narrow is the width of terminals that do not say theirs.
const narrow = 80

// meter shows how far work is that takes time: on one line of a terminal, or in lines of a pipe.
// On a terminal, it shows the oldest task, and counts the others.
type meter struct {
	to    io.Writer
	width func() int // of the terminal; nil: it is a pipe
	now   func() time.Time

	mu     sync.Mutex // guards the fields below, and the tasks
	active []*task    // in the order in which they began
	shown  time.Time  // the last picture
	open   bool       // the line of the terminal has a picture, and no end
}

// task is work that a meter shows.
type task struct {
	meter *meter
	name  string
	began time.Time
	lined time.Time                        // its last line in a pipe; zero: none
	text  func(spent time.Duration) string // how far it is
}

// newMeter returns a meter for a terminal or a pipe.
func newMeter(stderr io.Writer) *meter {
	m := &meter{to: stderr, now: time.Now}
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		m.width = func() int {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
				return width
			}
			return narrow
		}
	}
	return m
}

func (m *meter) terminal() bool { return m.width != nil }

// begin adds a task. The caller holds the lock.
func (m *meter) begin(t *task) {
	t.meter, t.began = m, m.now()
	m.active = append(m.active, t)
}

// draw replaces the line of a terminal. The caller holds the lock.
func (m *meter) draw() {
	now := m.now()
	if len(m.active) == 0 || m.open && now.Sub(m.shown) < drawing {
		return
	}
	m.shown, m.open = now, true
	oldest := m.active[0]
	text := oldest.text(now.Sub(oldest.began))
	if others := len(m.active) - 1; others > 0 {
		text += fmt.Sprintf("; and %d more", others)
	}
	m.write(oldest.name, text)
}

// write replaces the line of a terminal by a name and a text.
func (m *meter) write(name, text string) {
	room := m.width() - len([]rune(text)) - 2
	shown := []rune(legible.Line(name))
	if len(shown) > max(room, 1) { // the end of a name distinguishes it
		shown = append([]rune("…"), shown[len(shown)-max(room, 1)+1:]...)
	}
	fmt.Fprintf(m.to, "\r%s %s\x1b[K", string(shown), text)
}

// end removes a task. Its last text stays on the terminal, if it has one.
func (m *meter) end(t *task, last string) {
	i := slices.Index(m.active, t)
	if i < 0 {
		return
	}
	m.active = slices.Delete(m.active, i, i+1)
	switch {
	case !m.terminal():
		return
	case last != "":
		m.write(t.name, last)
	case !m.open || len(m.active) > 0:
		return
	}
	fmt.Fprintln(m.to) // what comes next, such as an error, has a line of its own
	m.open = false
}

// transfer is a task that reports how far it is.
type transfer struct {
	task
	from        int64 // where it has begun: it may continue an earlier one
	done, total int64
	begun       bool
}

// transfer shows a transfer, which begins with the first report.
func (m *meter) transfer(name string) (moved func(done, total int64), ended func()) {
	t := &transfer{task: task{name: name}}
	t.text = t.progress
	return func(done, total int64) {
			m.mu.Lock()
			defer m.mu.Unlock()
			t.done, t.total = done, total
			if !t.begun {
				t.begun, t.from = true, done
				m.begin(&t.task)
			}
			if m.terminal() {
				m.draw()
			} else if !t.full() {
				t.line()
			}
		}, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if t.begun {
				t.end()
			}
		}
}

func (t *transfer) full() bool { return t.done >= t.total }

// end shows the result of a transfer that is complete. A broken one has an error, which the
// command shows.
func (t *transfer) end() {
	m, last := t.meter, ""
	if t.full() {
		last = t.result(m.now().Sub(t.began))
		if !m.terminal() && !t.lined.IsZero() {
			fmt.Fprintf(m.to, "%s: %s\n", legible.Line(t.name), last)
		}
	}
	m.end(&t.task, last)
}

// line writes a line, if the last one was some time ago.
func (t *transfer) line() {
	now := t.meter.now()
	if t.lined.IsZero() && now.Sub(t.began) < patience || !t.lined.IsZero() && now.Sub(t.lined) < silence {
		return
	}
	t.lined = now
	fmt.Fprintf(t.meter.to, "%s: %s\n", legible.Line(t.name), t.progress(now.Sub(t.began)))
}

// progress says how far the transfer is, how fast, and when it ends.
func (t *transfer) progress(spent time.Duration) string {
	text := megabytes(t.done) + " of " + megabytes(t.total) + " MB"
	if rate := t.rate(spent); rate > 0 {
		left := time.Duration(float64(t.total-t.done) / rate * float64(time.Second))
		text += fmt.Sprintf(", %.1f MB/s, %s left", rate/1e6, legible.Seconds(left))
	}
	return text
}

// result says how long the transfer took.
func (t *transfer) result(spent time.Duration) string {
	text := megabytes(t.total) + " MB in " + legible.Seconds(spent)
	if rate := t.rate(spent); rate > 0 {
		text += fmt.Sprintf(", %.1f MB/s", rate/1e6)
	}
	return text
}

// rate is the speed in bytes per second; 0: unknown.
func (t *transfer) rate(spent time.Duration) float64 {
	if moved := t.done - t.from; moved > 0 && spent > 0 {
		return float64(moved) / spent.Seconds()
	}
	return 0
}

// countdown shows work that reports nothing by itself, and takes about some time, on a terminal.
// The returned function ends it.
func (m *meter) countdown(name, doing string, about time.Duration) (ended func()) {
	t := &task{name: name, text: func(spent time.Duration) string { return doing + ": " + remaining(spent, about) }}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begin(t)
	m.draw()
	ticks, over, stopped := time.NewTicker(ticking), make(chan struct{}), make(chan struct{})
	go func() { // The returned function waits for it.
		defer close(stopped)
		for {
			select {
			case <-over:
				return
			case <-ticks.C:
				m.mu.Lock()
				m.draw()
				m.mu.Unlock()
			}
		}
	}()
	return func() {
		ticks.Stop()
		close(over)
		<-stopped
		m.mu.Lock()
		defer m.mu.Unlock()
		m.end(t, doing+": "+legible.Seconds(m.now().Sub(t.began)))
	}
}

// remaining says how long work has taken, and how long it will take.
func remaining(spent, about time.Duration) string {
	if spent >= about {
		return fmt.Sprintf("%s, usually %s", legible.Seconds(spent), legible.Seconds(about))
	}
	return fmt.Sprintf("%s, about %s left", legible.Seconds(spent), legible.Seconds(about-spent))
}

func megabytes(size int64) string { return fmt.Sprintf("%.1f", float64(size)/1e6) }
