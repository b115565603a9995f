//go:build browser && linux

package endpoints

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/test/browsertest"
)

var pictures = flag.String("pictures", "", "the folder for pictures of the page; empty: none")

// maxPicture bounds a picture for the manual, in bytes.
const maxPicture = 150 << 10

// picture takes a picture, and keeps it for the manual if pictures are wanted.
func picture(t *testing.T, b *browsertest.Browser, name string) {
	t.Helper()
	data := b.Picture()
	if len(data) > maxPicture {
		t.Errorf("%s has %d bytes", name, len(data))
	}
	if image, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || image.Width == 0 {
		t.Errorf("%s: %v", name, err)
	}
	if *pictures != "" {
		if err := os.WriteFile(filepath.Join(*pictures, name), data, 0o644); err != nil { //nolint:gosec // a picture for everybody
			t.Fatal(err)
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
			b := browsertest.Start(t, 2*time.Minute)
			for _, scheme := range []string{"light", "dark"} {
				b.Open(server.URL+"/statusz?format=html", 390, scheme)
				b.Evaluate("document.querySelector('article.attention details').open = true", nil)
				var width, size float64
				if b.Evaluate("document.documentElement.scrollWidth", &width); width > 390 {
					t.Errorf("%s: the page is %v wide on a screen of 390", scheme, width)
				}
				if b.Evaluate("parseFloat(getComputedStyle(document.body).fontSize)", &size); size < 14 {
					t.Errorf("the text is %v high", size)
				}
				var background string
				b.Evaluate("getComputedStyle(document.body).backgroundColor", &background)
				if want := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]; background != want {
					t.Errorf("%s: the background is %v", scheme, background)
				}
				if name == "shown" {
					picture(t, b, "statusz-"+scheme+".png")
				}
			}
			var scripts, found int
			if b.Evaluate("document.scripts.length", &scripts); scripts != 0 {
				t.Errorf("the page has %v scripts", scripts)
			}
			b.Loaded(func() {
				b.Evaluate("document.querySelector('input[type=search]').value = 'mailer'; setTimeout(() => document.querySelector('form').submit())", nil)
			})
			if b.Evaluate("document.querySelectorAll('article').length", &found); found != 1 {
				t.Errorf("the search has found %v operators", found)
			}
		})
	}
}
