package scenarios

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// Print writes an outcome for people: one line, and what is wrong.
func (o *Outcome) Print(to io.Writer) error {
	verdict := "ok  "
	if o.Failed() {
		verdict = "FAIL"
	}
	_, err := fmt.Fprintf(to, "%s %s: %s (%s)\n%s", verdict, o.File, legible.Line(o.Name), o.figures(), o.details("  "))
	return err
}

func (o *Outcome) figures() string {
	calls := "calls"
	if o.Calls == 1 {
		calls = "call"
	}
	return fmt.Sprintf("%d %s, %s in %s", o.Calls, calls, span(o.Simulated), o.Took.Round(time.Millisecond))
}

// span shows a simulated time: 7d0h1m0s.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	if d < day {
		return d.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%dd%s", d/day, (d % day).Round(time.Second))
}

// details are the reasons of a failure.
func (o *Outcome) details(indent string) string {
	var out strings.Builder
	for _, m := range o.Mismatches {
		fmt.Fprintf(&out, "%s%s: %s\n", indent, m.Place, legible.Line(m.Title))
		for _, line := range m.Lines {
			fmt.Fprintf(&out, "%s  %s\n", indent, legible.Line(line))
		}
	}
	if o.Error != "" {
		fmt.Fprintf(&out, "%s%s\n", indent, legible.Lines(o.Error))
	}
	return out.String()
}

// Form is the form of outcomes in JSON and YAML.
type Form struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Name     string   `json:"name"`
	Failed   bool     `json:"failed"`
	Problems []string `json:"problems,omitempty"`
	Calls    int      `json:"calls"`
	Seconds  float64  `json:"simulatedSeconds"`
}

// Form returns the outcome for programs. It is equal for repeated runs.
func (o *Outcome) Form() Form {
	form := Form{File: o.File, Line: o.Line, Name: o.Name, Failed: o.Failed(), Calls: o.Calls, Seconds: o.Simulated.Seconds()}
	for _, m := range o.Mismatches {
		form.Problems = append(form.Problems, strings.Join(append([]string{m.Place + ": " + m.Title}, m.Lines...), "\n"))
	}
	if o.Error != "" {
		form.Problems = append(form.Problems, o.Error)
	}
	return form
}

// suite is the root of a report in the format of JUnit.
type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Cases    []testCase
}

type testCase struct {
	XMLName xml.Name `xml:"testcase"`
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Seconds string   `xml:"time,attr"`
	Failure *failure
}

type failure struct {
	XMLName xml.Name `xml:"failure"`
	Message string   `xml:"message,attr"`
	Text    string   `xml:",chardata"`
}

// JUnit writes a report that systems for continuous integration read.
func JUnit(to io.Writer, all []*Outcome) error {
	root := suite{Name: "kopf test", Tests: len(all)}
	for _, o := range all {
		one := testCase{Class: o.File, Name: o.Name, Seconds: fmt.Sprintf("%.3f", o.Took.Seconds())}
		if o.Failed() {
			root.Failures++
			one.Failure = &failure{Message: fmt.Sprintf("%s:%d", o.File, o.Line), Text: o.details("")}
		}
		root.Cases = append(root.Cases, one)
	}
	text, err := xml.MarshalIndent(root, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(to, "%s%s\n", xml.Header, text)
	}
	return err
}
