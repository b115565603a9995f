//go:build browser && linux

// Package site checks the manual as a site in a browser: `make docs-check`.
package site

import (
	_ "embed"
	"encoding/json"
	"flag"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/test/browsertest"
)

// folder is where `make docs` builds the site.
const folder = "../../.cache/site"

var (
	pictures = flag.String("pictures", "", "the folder for pictures of all pages; empty: none")
	only     = flag.String("pages", "", "check the pages whose names contain this text; empty: all")
)

//go:embed look.js
var look string

// seen is what look.js finds in a page.
type seen struct {
	Width    int      // of the page, in pixels
	Wide     []string // elements that make it wide
	Scheme   string   // the palette
	Pale     []string // texts with too little contrast
	Tiny     []string // texts that are too small
	Links    []string
	IDs      []string
	Tabs     int // snippets in several languages
	Diagrams int
}

// visit is a page that was shown.
type visit struct {
	*testing.T
	b      *browsertest.Browser
	server string
	ids    map[string][]string // of pages, by their paths
	links  map[string][]string
	tabs   int
	images int
}

// TestSite: each page fits a phone and a desktop, in both palettes, with enough contrast; it
// loads nothing that is missing or of another server; and its links lead to pages and
// headings that exist.
func TestSite(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	b := browsertest.Start(t, 20*time.Minute)
	b.Call("Network.enable", nil, nil)
	v := &visit{T: t, b: b, server: server.URL, ids: map[string][]string{}, links: map[string][]string{}}
	b.Event = v.watch
	for _, page := range pages(t) {
		for _, width := range []int{390, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				v.page(page, width, scheme)
			}
		}
	}
	v.follow()
	if *only == "" && (v.tabs < 40 || v.images < 5) {
		t.Errorf("the site has %d snippets with tabs, and %d diagrams", v.tabs, v.images)
	}
}

// pages are the pages of the site.
func pages(t *testing.T) (found []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, ".html") && name != "404.html" && strings.Contains(name, *only) {
			found = append(found, strings.TrimPrefix(path, folder+"/"))
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no pages: %v: run 'make docs'", err)
	}
	return found
}

// watch looks at the requests of pages.
func (v *visit) watch(method string, params json.RawMessage) {
	v.Helper()
	var event struct {
		Request  struct{ URL string }
		Response struct {
			URL    string
			Status int
		}
		ErrorText string
		Canceled  bool
	}
	if err := json.Unmarshal(params, &event); err != nil {
		v.Fatal(err)
	}
	switch method {
	case "Network.requestWillBeSent":
		u, err := url.Parse(event.Request.URL)
		if err != nil || (u.Scheme == "http" || u.Scheme == "https") && "http://"+u.Host != v.server {
			v.Errorf("a request leaves the site: %s", event.Request.URL)
		}
	case "Network.responseReceived":
		if event.Response.Status >= 400 {
			v.Errorf("%s: status %d", event.Response.URL, event.Response.Status)
		}
	case "Network.loadingFailed":
		if !event.Canceled {
			v.Errorf("a request failed: %s", event.ErrorText)
		}
	}
}

// page shows a page, and judges it.
func (v *visit) page(page string, width int, scheme string) {
	v.Helper()
	v.b.Open(v.server+"/"+page, width, scheme)
	var found seen
	v.b.Evaluate(look, &found)
	where := page + " (" + scheme + ")"
	if width < 600 {
		where = page + " (" + scheme + ", phone)"
	}
	if found.Width > width {
		v.Errorf("%s: the page is %d wide: %v", where, found.Width, found.Wide)
	}
	if want := map[string]string{"light": "default", "dark": "slate"}[scheme]; found.Scheme != want {
		v.Errorf("%s: the palette is %s", where, found.Scheme)
	}
	for _, text := range found.Pale {
		v.Errorf("%s: too little contrast: %s", where, text)
	}
	for _, text := range found.Tiny {
		v.Errorf("%s: too small: %s", where, text)
	}
	v.ids["/"+page], v.links["/"+page] = found.IDs, found.Links
	if width > 600 && scheme == "light" {
		v.tabs += found.Tabs
		v.images += found.Diagrams
	}
	if *pictures != "" {
		name := strings.ReplaceAll(strings.TrimSuffix(page, ".html"), "/", "-") + "-" + scheme
		if width < 600 {
			name += "-phone"
		}
		if err := os.WriteFile(filepath.Join(*pictures, name+".png"), v.b.Picture(), 0o600); err != nil {
			v.Fatal(err)
		}
	}
}

// follow looks at the links between the pages.
func (v *visit) follow() {
	v.Helper()
	for page, links := range v.links {
		for _, link := range links {
			u, err := url.Parse(link)
			if err != nil {
				v.Errorf("%s: %v", page, err)
				continue
			}
			if "http://"+u.Host != v.server {
				continue
			}
			path := u.Path
			if strings.HasSuffix(path, "/") {
				path += "index.html"
			}
			if _, err := os.Stat(folder + path); err != nil {
				v.Errorf("%s: a link to %s: no such page", page, link)
			}
			if ids, known := v.ids[path]; known && u.Fragment != "" && !slices.Contains(ids, u.Fragment) {
				v.Errorf("%s: a link to %s: no such heading", page, link)
			}
		}
	}
}

// TestSearch: a word is found, by a server and without one.
func TestSearch(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	path, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{"server": server.URL, "files": "file://" + path} {
		t.Run(name, func(t *testing.T) {
			b := browsertest.Start(t, 2*time.Minute)
			b.Open(address+"/index.html", 1280, "light")
			var found []string
			b.Evaluate(`new Promise((resolve, reject) => {
				const input = document.querySelector(".md-search__input");
				const late = setTimeout(() => reject(new Error("no results")), 60000);
				const results = () => [...document.querySelectorAll(".md-search-result__link")].map((a) => a.href);
				const look = () => results().length ? (clearTimeout(late), resolve(results())) : setTimeout(look, 100);
				input.focus();
				input.value = "finalizer";
				input.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
				input.dispatchEvent(new Event("input", { bubbles: true }));
				look();
			})`, &found)
			if !slices.ContainsFunc(found, func(href string) bool { return strings.Contains(href, "continuity.html") }) {
				t.Errorf("the search for finalizer has found %v", found)
			}
		})
	}
}

// TestTabsStay: the language that a reader chooses on one page is chosen on the others.
func TestTabsStay(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	b := browsertest.Start(t, 2*time.Minute)
	chosen := `[...document.querySelectorAll(".tabbed-set > input:checked")].map((i) => document.querySelector("label[for=" + i.id + "]").textContent)`
	b.Open(server.URL+"/timers.html", 1280, "light")
	b.Evaluate(`[...document.querySelectorAll(".tabbed-labels label")].find((l) => l.textContent === "Rust").click()`, nil)
	for _, page := range []string{"/timers.html", "/daemons.html"} {
		if page != "/timers.html" {
			b.Open(server.URL+page, 1280, "light")
		}
		var labels []string
		b.Evaluate(`new Promise((resolve) => setTimeout(() => resolve(`+chosen+`), 500))`, &labels)
		if len(labels) == 0 || slices.ContainsFunc(labels, func(l string) bool { return l != "Rust" }) {
			t.Errorf("%s shows %v", page, labels)
		}
	}
}
