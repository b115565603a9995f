package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/explanation"
)

// print writes an explanation as text.
func (e *explained) print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	e.printObject(table)
	e.printHandlers(table)
	e.printProgress(table)
	e.printFinalizers(table)
	e.printOthers(table)
	return table.Flush()
}

func (e *explained) printObject(to io.Writer) {
	name := e.Object.Name
	if e.Object.Namespace != "" {
		name = e.Object.Namespace + "/" + name
	}
	fmt.Fprintf(to, "Object:\t%s %s\n", cell(e.Object.Resource), cell(name))
	for _, m := range e.Modules {
		fmt.Fprintf(to, "Module:\t%s %s\n", cell(m.Name), shortDigest(m.Digest))
	}
	fmt.Fprintf(to, "Cause:\t%s: %s\n", e.Cause.Reason, cell(e.Cause.Why))
	switch {
	case e.Cause.Resuming && e.Cause.AtStart == "resume":
		fmt.Fprintln(to, "At a start:\tresume")
	case e.Cause.Resuming:
		fmt.Fprintf(to, "At a start:\t%s, with the handlers for resuming\n", e.Cause.AtStart)
	}
	if len(e.Cause.Diff) > 0 {
		fmt.Fprintln(to, "\nChanges since the last handled state:")
	}
	for _, c := range e.Cause.Diff {
		fmt.Fprintf(to, "  %s\t%s\t%s\n", c.Op, cell(c.Field), cell(changed(c)))
	}
}

// changed shows the values of a change.
func changed(c explanation.Change) string {
	switch c.Op {
	case "add":
		return shortValue(c.New)
	case "remove":
		return "was " + shortValue(c.Old)
	}
	return shortValue(c.Old) + " -> " + shortValue(c.New)
}

// shortValue is the beginning of a value in JSON.
func shortValue(value any) string {
	text := []rune(string(dicts.Encode(value)))
	if len(text) > maxShown {
		return string(text[:maxShown]) + "…"
	}
	return string(text)
}

func (e *explained) printHandlers(to io.Writer) {
	if len(e.Handlers) == 0 {
		fmt.Fprintln(to, "\nNo handlers of objects are registered.")
		return
	}
	fmt.Fprintln(to, "\nHANDLER\tKIND\tCALLED\tWHY")
	for _, h := range e.Handlers {
		why := h.Why
		if h.Verdict == explanation.Delayed && h.Progress != nil && h.Progress.Next != nil {
			why = append([]string{"the next attempt is at " + shownTime(*h.Progress.Next)}, why...)
		}
		if len(why) == 0 {
			why = []string{""}
		}
		fmt.Fprintf(to, "%s\t%s\t%s\t%s\n", cell(h.ID), h.Kind, h.Verdict, cell(why[0]))
		for _, more := range why[1:] {
			fmt.Fprintf(to, "\t\t\t%s\n", cell(more))
		}
	}
}

func (e *explained) printProgress(to io.Writer) {
	shown := map[string]bool{} // a function that is registered for several causes has one record
	for _, h := range e.Handlers {
		if h.Progress == nil || shown[h.ID] {
			continue
		}
		if len(shown) == 0 {
			fmt.Fprintln(to, "\nPROGRESS\tPURPOSE\tATTEMPTS\tSTATE\tLAST ERROR")
		}
		shown[h.ID] = true
		for _, p := range append([]explanation.Progress{*h.Progress}, h.Progress.Subhandlers...) {
			fmt.Fprintf(to, "%s\t%s\t%d\t%s\t%s\n", cell(p.ID), cell(orDash(p.Purpose)), p.Attempts, stateOf(p), cell(orDash(p.Error)))
		}
	}
}

// stateOf shows how far a handler has come.
func stateOf(p explanation.Progress) string {
	switch {
	case p.Success:
		return "succeeded"
	case p.Failure:
		return "failed"
	case p.Next != nil:
		return "next at " + shownTime(*p.Next)
	}
	return "due since " + shownTime(p.Due)
}

func (e *explained) printFinalizers(to io.Writer) {
	f := &e.Finalizers
	fmt.Fprintln(to, "\nFINALIZER\tOF\tSTATE")
	state := "absent"
	if f.Present {
		state = "present"
	}
	need := "no handler needs it"
	if len(f.RequiredBy) > 0 {
		need = "needed by " + strings.Join(f.RequiredBy, ", ")
	}
	fmt.Fprintf(to, "%s\tthis operator\t%s, %s\n", cell(f.Own), state, cell(need))
	for _, name := range f.Foreign {
		fmt.Fprintf(to, "%s\tanother controller\tpresent\n", cell(name))
	}
	if e.Deletion == nil {
		return
	}
	fmt.Fprintf(to, "\nThe object is being deleted since %s. It waits for:\n", cell(e.Deletion.Since))
	for _, text := range e.Deletion.BlockedBy {
		fmt.Fprintf(to, "  %s\n", cell(text))
	}
	if len(e.Deletion.BlockedBy) == 0 {
		fmt.Fprintln(to, "  nothing")
	}
}

// printOthers writes what others say: peers, hosts, and notes.
func (e *explained) printOthers(to io.Writer) {
	if len(e.Peers) > 0 {
		fmt.Fprintln(to, "\nPEER\tPRIORITY\tLAST SEEN\tIN")
	}
	for _, p := range e.Peers {
		seen := shownTime(p.LastSeen)
		if p.Dead {
			seen += " (dead)"
		}
		fmt.Fprintf(to, "%s\t%d\t%s\t%s\n", cell(p.Identity), p.Priority, seen, cell(p.Object))
	}
	if len(e.Hosted) > 0 {
		fmt.Fprintln(to, "\nHOSTED\tREADY\tPAUSED\tLAST ERROR")
	}
	for i := range e.Hosted {
		f := &e.Hosted[i].Operator
		last := ""
		if len(f.Errors) > 0 {
			last = f.Errors[len(f.Errors)-1].Message
		}
		fmt.Fprintf(to, "%s\t%t\t%t\t%s\n", cell(f.Title()), f.Ready, f.Work.Paused, cell(orDash(last)))
	}
	e.printNow(to)
	for i, note := range e.Notes {
		if i == 0 {
			fmt.Fprintln(to)
		}
		fmt.Fprintf(to, "Note: %s.\n", cell(strings.TrimSuffix(note, ".")))
	}
}

// printNow writes what the operators of a host do for the object now.
func (e *explained) printNow(to io.Writer) {
	begun := false
	for i := range e.Hosted {
		h := &e.Hosted[i]
		if h.Object == nil {
			continue
		}
		if !begun {
			fmt.Fprintln(to, "\nNOW\tSTATE\tWAITING EVENTS\tDAEMONS AND TIMERS")
			begun = true
		}
		fmt.Fprintf(to, "%s\t%s\t%d\t%s\n", cell(h.Operator.Title()), cell(doing(h.Object)), h.Object.Waiting, cell(orDash(strings.Join(h.Object.Daemons, ", "))))
	}
}

// pauses are what the handling of an object waits for, by facts.Object.Sleeps.
var pauses = map[string]string{
	"retry":     "waits for the next attempt",
	"throttled": "is throttled after an unexpected error",
	"loop":      "is slowed down, because its own patches call its handlers",
	"patch":     "waits for the event of its own patch",
}

// doing describes what an operator does for an object.
func doing(o *facts.Object) string {
	switch {
	case !o.Known:
		return "the object is not in memory"
	case o.Sleeps != "":
		text := cmp.Or(pauses[o.Sleeps], "waits: "+o.Sleeps)
		if o.Until != nil {
			text += " until " + shownTime(*o.Until)
		}
		return text
	case o.Working:
		return "is handled"
	case o.Waiting > 0:
		return "waits for a worker"
	}
	return "is idle"
}
