package main

import (
	"fmt"
	"os"
	"strings"
)

// Names of operators that the others are compared with.
const (
	kubeRS    = "kube-rs"
	reference = "reference"
)

// program is an operator to be measured: it serves the KopfExamples of the namespace
// default, connects by KUBECONFIG, and ends at SIGTERM.
type program struct {
	Name    string
	Command []string
	Needs   string   // a file, besides the program itself, without which it cannot run
	Events  bool     // it can post its log messages as events
	Posting []string // more arguments then; the variable BENCH_POSTING says so, too
	Caches  bool     // its first start differs from later ones: it keeps compiled code
}

// programs are the operators, in the order of the report.
var programs = []program{
	{Name: "client-go", Command: []string{".cache/bench/client-go", "-workers=16"}},
	{Name: kubeRS, Command: []string{".cache/bench/kube-rs"}},
	hosted("kopf-rust", ".cache/guests/bench-rust.wasm"),
	hosted("kopf-go", ".cache/guests/bench-go.wasm"),
	{
		Name: reference, Events: true,
		Command: []string{".cache/reference/bin/kopf", "run", "--standalone", "-n", "default", "test/bench/peers/kopf/operator.py"},
	},
}

// hosted is this project with a guest.
func hosted(name, module string) program {
	return program{
		Name: name, Needs: module, Events: true, Caches: true,
		Command: []string{"bin/kopf", "run", "--standalone", "-n", "default", module},
		Posting: []string{"--config", "posting=on"},
	}
}

// chosen are the operators to be measured. Those that were not built are skipped,
// loudly.
func chosen(o options) ([]program, error) {
	all := programs
	if o.Also != "" {
		name, command, ok := strings.Cut(o.Also, "=")
		if !ok || name == "" || command == "" {
			return nil, fmt.Errorf("flag -also: %q is not NAME=COMMAND", o.Also)
		}
		all = append(all[:len(all):len(all)], program{Name: name, Command: strings.Fields(command)})
	}
	only := map[string]bool{}
	for name := range strings.SplitSeq(o.Only, ",") {
		only[name] = name != ""
	}
	var list []program
	for _, p := range all {
		if o.Only != "" && !only[p.Name] {
			continue
		}
		delete(only, p.Name)
		if missing := p.missing(); missing != "" {
			fmt.Fprintf(o.Log, "SKIPPED: %s: there is no %s\n", p.Name, missing)
			continue
		}
		list = append(list, p)
	}
	delete(only, "")
	for name := range only {
		return nil, fmt.Errorf("flag -only: there is no operator %q", name)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there are no operators to be measured")
	}
	return list, nil
}

// missing is a file that the operator needs and does not have; "" if there is none.
func (p *program) missing() string {
	for _, file := range []string{p.Command[0], p.Needs} {
		if _, err := os.Stat(file); file != "" && err != nil {
			return file
		}
	}
	return ""
}

// arguments is the command line, program included.
func (p *program) arguments(posting bool) []string {
	if !posting {
		return p.Command
	}
	return append(p.Command[:len(p.Command):len(p.Command)], p.Posting...)
}

// line is the command line as one would type it.
func (p *program) line(posting bool) string {
	line := strings.Join(p.arguments(posting), " ")
	if posting && len(p.Posting) == 0 {
		line = "BENCH_POSTING=on " + line
	}
	return line
}
