package endpoints

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/hosting/facts"
)

// maxShown bounds the operators on a page, so that a phone can show it. The search finds the
// others.
const maxShown = 200

var (
	//go:embed assets/page.html
	pageText string

	//go:embed assets/page.css
	styles string

	// page is parsed at the first use, not at each start of the program.
	page = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page").Funcs(template.FuncMap{
			"bytes": Bytes, "heap": func(n uint64) string { return Bytes(int64(n)) }, "seconds": Seconds, "title": (*facts.Operator).Title, "ago": ago, "used": used,
		}).Parse(pageText))
	})

	// policy lets the page use its own styles, and send its form; nothing else.
	policy = fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'", digestOf(styles))
)

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// view is what the template shows.
type view struct {
	*facts.Report
	Styles  template.CSS
	Query   string // words in names, modules, reasons or errors
	Only    string // "problems", or everything
	Shown   []*facts.Operator
	Found   int
	Problem int // operators that are not ready
}

// showPage shows a report as HTML.
func showPage(w http.ResponseWriter, report *facts.Report, query url.Values) {
	v := &view{Report: report, Styles: template.CSS(styles), Query: query.Get("q"), Only: query.Get("only"), Problem: report.Host.Operators - report.Host.Ready} //nolint:gosec // the styles are of this package
	words := strings.Fields(strings.ToLower(v.Query))
	for i := range report.Operators {
		f := &report.Operators[i]
		if !matches(f, words) || v.Only == "problems" && f.Ready {
			continue
		}
		if v.Found++; v.Found <= maxShown {
			v.Shown = append(v.Shown, f)
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	_ = page().Execute(w, v) // the client may have disconnected
}

// matches reports whether an operator has all words.
func matches(f *facts.Operator, words []string) bool {
	if len(words) == 0 {
		return true
	}
	texts := []string{f.Title(), string(f.Kind), f.Module.Declared, f.Module.Artifact, f.Module.Digest, f.Reason, f.Account}
	texts = append(texts, f.Module.Resources...)
	for _, c := range f.Conditions {
		texts = append(texts, c.Message)
	}
	for _, e := range f.Errors {
		texts = append(texts, e.Message)
	}
	text := strings.ToLower(strings.Join(texts, "\n"))
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// ago is the time since a moment, in its largest unit.
func ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	default:
		return fmt.Sprintf("%ds", int(max(0, d).Seconds()))
	}
}

// used shows the state of a limit.
func used(l facts.Limit) string {
	if l.Limit == 0 {
		return ""
	}
	return Bytes(l.Used) + " of " + Bytes(l.Limit)
}

// Bytes shows a size: 512 B, 1.5 MiB.
func Bytes(size int64) string {
	const units = "KMGT"
	if size < 1<<10 {
		return fmt.Sprintf("%d B", size)
	}
	value, unit := float64(size)/(1<<10), 0
	for ; value >= 1000 && unit < len(units)-1; unit++ {
		value /= 1 << 10
	}
	if value >= 100 {
		return fmt.Sprintf("%.0f %ciB", value, units[unit])
	}
	return fmt.Sprintf("%.1f %ciB", value, units[unit])
}

// Seconds shows a computing time: 12ms, 3.4s, 5m10s.
func Seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(time.Second / 10).String()
	}
	return d.Round(time.Second).String()
}
