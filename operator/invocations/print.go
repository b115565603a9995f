package invocations

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Print writes a result for people.
func (r *Result) Print(to io.Writer) error {
	var out bytes.Buffer
	handler := legible.Line(r.Handler)
	fmt.Fprintf(&out, "%s (%s) %s\n", handler, r.Kind, r.verdict())
	if r.Filtered {
		fmt.Fprintf(&out, "note: the filters of %s do not match this object: an operator would not call it\n", handler)
	}
	if r.Error != nil && r.Error.Stack != "" {
		section(&out, "stack", strings.Split(strings.TrimRight(r.Error.Stack, "\n"), "\n")...)
	}
	for _, part := range []struct {
		name  string
		value any
	}{{"result", r.Result}, {"patch", dicts.OrNil(r.Patch)}, {"settings", dicts.OrNil(r.Settings)}, {"memo", dicts.OrNil(r.Memo)}} {
		if part.value == nil {
			continue
		}
		text, err := yaml.Marshal(part.value)
		if err != nil {
			return err
		}
		section(&out, part.name, strings.Split(strings.TrimRight(string(text), "\n"), "\n")...)
	}
	r.printLists(&out)
	_, err := io.WriteString(to, out.String())
	return err
}

// verdict says how the call has ended.
func (r *Result) verdict() string {
	e := r.Error
	switch {
	case e == nil:
		return "succeeded"
	case e.Delay != nil:
		return fmt.Sprintf("failed (%s, again after %g seconds): %s", e.Kind, *e.Delay, legible.Lines(e.Message))
	}
	return fmt.Sprintf("failed (%s): %s", e.Kind, legible.Lines(e.Message))
}

// printLists writes what has several items: one line for each.
func (r *Result) printLists(out *bytes.Buffer) {
	var lines []string
	for _, operation := range r.Operations {
		lines = append(lines, string(dicts.Encode(operation)))
	}
	section(out, "operations", lines...)
	section(out, "warnings", r.Warnings...)
	lines = nil
	for _, log := range r.Logs {
		lines = append(lines, fmt.Sprintf("%-8s %s", log.Level, log.Message))
	}
	section(out, "log", lines...)
	lines = nil
	for _, event := range r.Events {
		lines = append(lines, fmt.Sprintf("%s %s: %s", event.Type, event.Reason, event.Message))
	}
	section(out, "events", lines...)
	lines = nil
	for _, request := range r.Requests {
		line := fmt.Sprintf("%s %s", request.Method, request.Path)
		if request.Body != nil {
			line += " " + string(dicts.Encode(request.Body))
		}
		if request.Status > 0 {
			line += fmt.Sprintf(" -> %d", request.Status)
		}
		if request.Error != "" {
			line += " -> " + request.Error
		}
		lines = append(lines, line)
	}
	section(out, "requests", lines...)
}

// section writes a title and indented texts, unless there are none. Texts of guests cannot
// control the terminal: further lines of a text do not look like another one.
func section(out *bytes.Buffer, title string, texts ...string) {
	if len(texts) == 0 {
		return
	}
	fmt.Fprintf(out, "%s:\n", title)
	for _, text := range texts {
		for line := range strings.SplitSeq(legible.Lines(text), "\n") {
			fmt.Fprintf(out, "  %s\n", line)
		}
	}
}
