package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// baselines are the operators that all are compared with: the fastest one that is
// known, and the one whose behaviour is ours.
var baselines = []string{kubeRS, reference}

const (
	kubeRS    = "kube-rs"
	reference = "reference"
)

// referenceOperator is the operator of the reference, which this project runs, too.
const referenceOperator = "test/bench/peers/kopf/operator.py"

// program is an operator to be measured: it serves the KopfExamples of the namespace
// default, connects by KUBECONFIG, and ends at SIGTERM.
type program struct {
	Name    string
	Command []string
	Needs   string   // a file, besides the program itself, without which it cannot run
	Events  bool     // it can post its log messages as events
	Posting []string // more arguments then; the variable BENCH_POSTING says so, too

	Environment []string // more variables
	Objects     int      // at most so many with daemons; 0: as many as all
}

// programs are the operators, in the order of the report.
var programs = []program{
	{Name: "client-go", Command: []string{".cache/bench/client-go", "-workers=16"}},
	{Name: "controller-runtime", Command: []string{".cache/bench/controller-runtime"}},
	{Name: kubeRS, Command: []string{".cache/bench/kube-rs"}},
	hosted("kopf-rust", ".cache/guests/bench-rust.wasm"),
	hosted("kopf-go", ".cache/guests/bench-go.wasm"),
	{
		Name: "kopf-python", Needs: "bin/engines/python.wasm", Events: true, // the file of the reference
		Command: []string{"bin/kopf", "run", "--standalone", "-n", "default", referenceOperator},
		Posting: []string{"--config", "BENCH_POSTING=on"},
	},
	{
		Name: reference, Events: true,
		Command: []string{".cache/reference/bin/kopf", "run", "--standalone", "-n", "default", referenceOperator},
	},
}

// hosted is this project with a guest, and more arguments.
func hosted(name, module string, more ...string) program {
	return program{
		Name: name, Needs: module, Events: true,
		Command: append([]string{"bin/kopf", "run", "--standalone", "-n", "default", module}, more...),
		Posting: []string{"--config", "posting=on"},
	}
}

// also adds an operator from the command line, such as another build of this project.
func (o *options) also(value string) error {
	name, command, _ := strings.Cut(value, "=")
	if name == "" || strings.TrimSpace(command) == "" {
		return errors.New("want NAME=COMMAND")
	}
	o.Also = append(o.Also, program{Name: name, Command: strings.Fields(command)})
	return nil
}

// chosen are the operators to be measured, for objects and for daemons. Those that
// were not built are skipped, loudly.
func chosen(o options) (loads, lives []program, err error) {
	loads = slices.Concat(programs, o.Also)
	if o.Daemons > 0 {
		lives = slices.Clone(daemonPrograms)
	}
	names := o.names()
	if slices.ContainsFunc(restrictions, o.restrictedTo) {
		lives = nil
	}
	if len(names) > 0 {
		other := func(p program) bool { return !slices.Contains(names, p.Name) }
		loads, lives = slices.DeleteFunc(loads, other), slices.DeleteFunc(lives, other)
		if len(loads)+len(lives) != len(names) {
			return nil, nil, fmt.Errorf("flag -only: some of the operators %s do not exist", o.Only)
		}
	}
	unbuilt := func(p program) bool {
		missing := p.missing()
		if missing != "" {
			fmt.Fprintf(o.Log, "SKIPPED: %s: there is no %s\n", p.Name, missing)
		}
		return missing != ""
	}
	loads, lives = slices.DeleteFunc(loads, unbuilt), slices.DeleteFunc(lives, unbuilt)
	if len(loads)+len(lives) == 0 {
		return nil, nil, errors.New("there are no operators to be measured")
	}
	return loads, lives, nil
}

// names are those of the operators to be measured; none: all.
func (o *options) names() []string {
	if o.Only == "" {
		return nil
	}
	return slices.DeleteFunc(strings.Split(o.Only, ","), func(name string) bool { return slices.Contains(restrictions, name) })
}

// restrictions are the words of the flag -only that are no names of operators.
var restrictions = []string{restartOnly, startOnly, replicasOnly}

// restrictedTo tells whether a word of the flag -only is given, and so nothing else is measured.
func (o *options) restrictedTo(word string) bool {
	return slices.Contains(strings.Split(o.Only, ","), word)
}

// missing is a file that the operator needs and does not have. It is empty if all exist.
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
