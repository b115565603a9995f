//go:build browser && linux

package endpoints

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
)

var pictures = flag.String("pictures", "", "the folder for pictures of the page; empty: none")

// maxPicture bounds a picture for the manual, in bytes.
const maxPicture = 150 << 10

// browser is a headless Chromium, which is driven by the pipes of its DevTools protocol.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	number  int
	session string
	loads   int // pages that have been loaded
}

// browse starts a browser with an empty page.
func browse(t *testing.T) *browser {
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
	watchdog := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil, nil)
		to.Close()
		_ = cmd.Wait() // it was killed, if the test has failed
		watchdog.Stop()
		from.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Page.enable", nil, nil)
	b.call("Log.enable", nil, nil)
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

func (b *browser) next() message {
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
	return m
}

// loaded waits until a page is loaded by what a function does.
func (b *browser) loaded(by func()) {
	b.t.Helper()
	before := b.loads
	for by(); b.loads == before; {
		b.next()
	}
}

// call makes a call of the protocol.
func (b *browser) call(method string, params map[string]any, result any) {
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

// open shows a page on a screen, in a color scheme.
func (b *browser) open(url string, width int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.loaded(func() { b.call("Page.navigate", map[string]any{"url": url}, nil) })
}

// evaluate returns the value of an expression in the page.
func (b *browser) evaluate(expression string) any {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %v", expression, answer.ExceptionDetails)
	}
	return answer.Result.Value
}

// picture takes a picture, and keeps it for the manual if pictures are wanted.
func (b *browser) picture(name string) {
	b.t.Helper()
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	if len(shot.Data) > maxPicture {
		b.t.Errorf("%s has %d bytes", name, len(shot.Data))
	}
	if image, err := png.DecodeConfig(strings.NewReader(string(shot.Data))); err != nil || image.Width == 0 {
		b.t.Errorf("%s: %v", name, err)
	}
	if *pictures != "" {
		if err := os.WriteFile(filepath.Join(*pictures, name), shot.Data, 0o644); err != nil { //nolint:gosec // a picture for everybody
			b.t.Fatal(err)
		}
	}
}

// shown is a host as the manual shows it.
func shown() *source {
	started := time.Date(2026, 3, 1, 8, 30, 0, 0, time.UTC)
	s := newSource()
	mailer := s.operators[1]
	mailer.Started = &started
	s.operators = nil
	for i, name := range []string{"mailer", "janitor", "backups", "certificates"} {
		f := mailer
		f.Name, f.Account = name, "system:serviceaccount:team:"+name
		f.Module.Declared, f.Module.Digest = "oci://ghcr.io/team/"+name+":v1", "sha256:"+strings.Repeat(fmt.Sprint(i+3), 64)
		f.Work.Objects, f.Work.Calls, f.Work.Errors = 12*(i+1), 345*uint64(i+1), 0
		f.Conditions = []api.Condition{{Type: api.Ready, Status: api.True, Reason: "Serving", Message: "the operator serves"}}
		s.operators = append(s.operators, f)
	}
	bad := &s.operators[1]
	bad.Ready, bad.Reason, bad.Started, bad.Work.Errors = false, "CrashLoop", nil, 8
	message := "the operator has ended 8 times in a row, and starts again when its declaration changes, or by kopf retry: startup: Activity 'connect' has failed"
	bad.Conditions = []api.Condition{{Type: api.Ready, Status: api.False, Reason: "CrashLoop", Message: message}, {Type: api.Quarantined, Status: api.True, Reason: "CrashLoop", Message: message}}
	bad.Errors = []facts.Error{{Time: started, Message: "Activity 'connect' failed with an exception and will stop now: " + strings.Repeat("x", 200)}}
	return s
}

// TestPageInBrowser: a phone shows the page without scrolling to the side, in both color
// schemes, with the details of an operator; the policy of the page blocks nothing that the page needs;
// the search works; and no text of a guest runs.
func TestPageInBrowser(t *testing.T) {
	for name, s := range map[string]*source{"shown": shown(), "hostile": newSource()} {
		t.Run(name, func(t *testing.T) {
			e := New(s, "v1.0.0")
			server := httptest.NewServer(e.Handler(nil))
			defer server.Close()
			b := browse(t)
			for _, scheme := range []string{"light", "dark"} {
				b.open(server.URL+"/statusz?format=html", 390, scheme)
				b.evaluate("document.querySelector('article.attention details').open = true")
				if width := b.evaluate("document.documentElement.scrollWidth").(float64); width > 390 {
					t.Errorf("%s: the page is %v wide on a screen of 390", scheme, width)
				}
				if size := b.evaluate("parseFloat(getComputedStyle(document.body).fontSize)").(float64); size < 14 {
					t.Errorf("the text is %v high", size)
				}
				background := b.evaluate("getComputedStyle(document.body).backgroundColor")
				if want := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]; background != want {
					t.Errorf("%s: the background is %v", scheme, background)
				}
				if name == "shown" {
					b.picture("statusz-" + scheme + ".png")
				}
			}
			if found := b.evaluate("document.scripts.length"); found != 0.0 {
				t.Errorf("the page has %v scripts", found)
			}
			b.loaded(func() {
				b.evaluate("document.querySelector('input[type=search]').value = 'mailer'; setTimeout(() => document.querySelector('form').submit())")
			})
			if found := b.evaluate("document.querySelectorAll('article').length"); found != 1.0 {
				t.Errorf("the search has found %v operators", found)
			}
		})
	}
}
