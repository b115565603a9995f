// Package browsertest drives a headless Chromium by its DevTools protocol, for tests of pages.
package browsertest

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Browser is a headless Chromium with one page. It is driven by pipes, not by a port.
type Browser struct {
	// Event is called for each event of the protocol. Nil: events are ignored.
	Event func(method string, params json.RawMessage)

	t       testing.TB
	to      *os.File
	from    *bufio.Reader
	number  int
	session string
	loads   int // pages that have been loaded
}

// Start starts a browser with an empty page. It ends with the test, and after the limit of time in any case.
func Start(t testing.TB, limit time.Duration) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	theirs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "--no-first-run", "--hide-scrollbars", "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, ours} // the descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	ours.Close()
	watchdog := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	b := &Browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		b.session = ""
		b.Call("Browser.close", nil, nil)
		to.Close()
		_ = cmd.Wait() // it was killed, if the test has failed
		watchdog.Stop()
		from.Close()
	})
	var target struct{ TargetID string }
	b.Call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.Call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.Call("Page.enable", nil, nil)
	b.Call("Log.enable", nil, nil)
	return b
}

// message is an answer, or an event.
type message struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

func (b *Browser) next() message {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser has ended: %v", err)
	}
	var m message
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		b.t.Fatal(err)
	}
	if m.Method == "Log.entryAdded" {
		b.t.Errorf("the browser complains: %s", m.Params)
	}
	if m.Method == "Page.loadEventFired" {
		b.loads++
	}
	if m.Method != "" && b.Event != nil {
		b.Event(m.Method, m.Params)
	}
	return m
}

// Loaded waits until a page is loaded by what a function does.
func (b *Browser) Loaded(by func()) {
	b.t.Helper()
	before := b.loads
	for by(); b.loads == before; {
		b.next()
	}
}

// Call calls a method of the protocol. The result may be nil.
func (b *Browser) Call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.number++
	request := map[string]any{"id": b.number, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	text, err := json.Marshal(request)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		m := b.next()
		if m.ID != b.number {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// Open shows a page on a screen of a width in pixels, in a color scheme: light or dark.
func (b *Browser) Open(url string, width int, scheme string) {
	b.t.Helper()
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.Call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.Loaded(func() { b.Call("Page.navigate", map[string]any{"url": url}, nil) })
}

// Evaluate decodes the value of an expression in the page into a result, which may be nil. A
// promise is awaited.
func (b *Browser) Evaluate(expression string, result any) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(answer.Result.Value, result); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
}

// Picture returns a picture of what the screen shows, as PNG.
func (b *Browser) Picture() []byte {
	b.t.Helper()
	var shot struct{ Data []byte }
	b.Call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	return shot.Data
}
