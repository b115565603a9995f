// Package scenarios tests operators: a file says what happens in a cluster, and what the
// operator must do. The operator is the real one; its cluster and its clock are simulated.
//
// See docs/testing.md.
package scenarios

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/answers"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/deployment"
	"github.com/kopf-wasm/kopf/operator/documents"
	"github.com/kopf-wasm/kopf/operator/simulation"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// File is a file of scenarios for one operator.
type File struct {
	Path       string
	Modules    []string // paths
	Namespaces []string
	Config     map[string]string
	Allow      []operator.Rule // grants of requests, in addition to those that the modules declare
	Scenarios  []*Scenario

	settings  *settings.Settings
	resources []selectors.Resource // of definitions, and guessed from objects
	named     int                  // bytes of the files that it names
}

// Scenario is one test.
type Scenario struct {
	Name  string
	Begin time.Time     // the time at the start
	Wait  time.Duration // how far the clock moves after each step

	node    documents.Node
	objects []dicts.Object // exist before the operator starts
	answers []documents.Node
	steps   []step
}

// step is one item of a scenario.
type step struct {
	name string
	node documents.Node
	do   action
}

// action does a step. It returns what does not meet its expectations.
type action func(r *run) []Mismatch

// defaultWait is long enough for the operator to handle an event.
const defaultWait = time.Second

// defaultBegin is the time at the start of scenarios.
var defaultBegin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Read reads a file of scenarios. It runs nothing.
//
// Errors: a *documents.Error for a mistake in the file, and those of files that it names.
func Read(path string) (*File, error) {
	data, err := boundedfile.Read(path, boundedfile.MaxDocument)
	if err != nil {
		return nil, err
	}
	nodes, err := documents.Parse(path, data)
	if err != nil {
		return nil, err
	}
	if len(nodes) != 1 {
		return nil, fmt.Errorf("%s: %d documents: want one, with scenarios", path, len(nodes))
	}
	f := &File{Path: path, Config: map[string]string{}, settings: defaults()}
	return f, f.read(nodes[0])
}

// defaults are the settings of scenarios. A watch without events is not renewed: it cannot
// break without a network.
func defaults() *settings.Settings {
	s := settings.Default()
	s.Watching.InactivityTimeout = 0
	s.Peering.Standalone = true
	return s
}

// relative returns a path of the file: relative ones begin at its folder.
func (f *File) relative(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.Path), path)
}

// maxNamed bounds all definitions and objects that the file names, in bytes.
const maxNamed = 4 * boundedfile.MaxDocument

// readNamed reads a file that the file names.
func (f *File) readNamed(n documents.Node, path string) ([]byte, error) {
	text, err := boundedfile.ReadNamed(f.relative(path), boundedfile.MaxDocument)
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	if f.named += len(text); f.named > maxNamed {
		return nil, n.Errorf("%w: the named files have more than %d MiB", bounded.ErrTooMuch, maxNamed>>20)
	}
	return text, nil
}

func (f *File) read(n documents.Node) error {
	fields, err := n.Fields("module", "definitions", "namespaces", "allow", "config", "settings", "scenarios")
	if err != nil {
		return err
	}
	if node, ok := fields["module"]; ok {
		if f.Modules, err = paths(f, node); err != nil {
			return err
		}
	}
	if node, ok := fields["definitions"]; ok {
		if err := f.readDefinitions(node); err != nil {
			return err
		}
	}
	if node, ok := fields["namespaces"]; ok {
		if f.Namespaces, err = texts(node); err != nil {
			return err
		}
	}
	if err := f.readAllow(fields["allow"]); err != nil {
		return err
	}
	if err := f.readConfig(fields["config"]); err != nil {
		return err
	}
	if err := f.readSettings(fields["settings"]); err != nil {
		return err
	}
	list, ok := fields["scenarios"]
	if !ok {
		return n.Errorf("the file has no scenarios")
	}
	return f.readScenarios(list)
}

func texts(n documents.Node) ([]string, error) {
	var all []string
	for _, item := range n.Items() {
		text, err := item.Text()
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

func paths(f *File, n documents.Node) ([]string, error) {
	all, err := texts(n)
	for i := range all {
		all[i] = f.relative(all[i])
		if broken := boundedfile.CheckNamed(all[i]); broken != nil && err == nil {
			err = n.Errorf("%w", broken)
		}
	}
	return all, err
}

func (f *File) readDefinitions(n documents.Node) error {
	for _, item := range n.Items() {
		path, err := item.Text()
		if err != nil {
			return err
		}
		text, err := f.readNamed(item, path)
		if err != nil {
			return err
		}
		defined, err := deployment.Definitions(text)
		if err != nil {
			return item.Errorf("%s: %w", path, err)
		}
		f.resources = append(f.resources, defined...)
	}
	return nil
}

func (f *File) readAllow(n documents.Node) error {
	if !n.Exists() {
		return nil
	}
	for _, item := range n.Items() {
		text, err := item.Text()
		if err != nil {
			return err
		}
		rule, err := operator.ParseRule(text)
		if err != nil {
			return item.Errorf("%w", err)
		}
		f.Allow = append(f.Allow, rule)
	}
	return nil
}

func (f *File) readConfig(n documents.Node) error {
	if !n.Exists() {
		return nil
	}
	var err error
	f.Config, err = n.Texts()
	return err
}

func (f *File) readSettings(n documents.Node) error {
	if !n.Exists() {
		return nil
	}
	object, err := n.Object()
	if err != nil {
		return err
	}
	values, err := settings.Parse(dicts.Encode(object))
	if err == nil {
		err = f.settings.SetAll(values)
	}
	if err != nil {
		return n.Errorf("%w", err)
	}
	return nil
}

func (f *File) readScenarios(n documents.Node) error {
	items, err := n.List()
	if err != nil {
		return err
	}
	names := map[string]int{}
	for _, item := range items {
		s, err := f.readScenario(item)
		if err != nil {
			return err
		}
		if line := names[s.Name]; line > 0 {
			return item.Errorf("a second scenario %q: the first one is in line %d", s.Name, line)
		}
		names[s.Name] = item.Line()
		f.Scenarios = append(f.Scenarios, s)
	}
	if len(items) == 0 {
		return n.Errorf("the list of scenarios is empty")
	}
	return nil
}

func (f *File) readScenario(n documents.Node) (*Scenario, error) {
	fields, err := n.Fields("name", "now", "wait", "objects", "answers", "steps")
	if err != nil {
		return nil, err
	}
	s := &Scenario{Begin: defaultBegin, Wait: defaultWait, node: n}
	name, ok := fields["name"]
	if !ok {
		return nil, n.Errorf("a scenario without a name")
	}
	if s.Name, err = name.Text(); err != nil {
		return nil, err
	}
	if err := s.readTimes(fields); err != nil {
		return nil, err
	}
	if node, ok := fields["objects"]; ok {
		if s.objects, err = f.objects(node); err != nil {
			return nil, err
		}
	}
	if node, ok := fields["answers"]; ok {
		s.answers = []documents.Node{node}
		if _, err := answers.Parse(s.answers); err != nil {
			return nil, err
		}
	}
	steps, ok := fields["steps"]
	if !ok {
		return nil, n.Errorf("the scenario %q has no steps", s.Name)
	}
	s.steps, err = f.readSteps(steps)
	return s, err
}

func (s *Scenario) readTimes(fields map[string]documents.Node) error {
	if node, ok := fields["wait"]; ok {
		var err error
		if s.Wait, err = node.Duration(); err != nil {
			return err
		}
	}
	node, ok := fields["now"]
	if !ok {
		return nil
	}
	text, err := node.Text()
	if err != nil {
		return err
	}
	if s.Begin, err = time.Parse(time.RFC3339, text); err != nil {
		return node.Errorf("%q is not a time: write 2026-01-01T00:00:00Z", text)
	}
	if s.Begin.Year() <= 2000 {
		return node.Errorf("%s: the time must be after the year 2000", text)
	}
	if !s.Begin.Before(simulation.End) {
		return node.Errorf("%s: the time must be before the year %d", text, simulation.End.Year())
	}
	return nil
}

// objects reads objects, or names of files with objects. Kinds that are unknown so far get a
// guessed resource.
func (f *File) objects(n documents.Node) ([]dicts.Object, error) {
	var all []dicts.Object
	for _, item := range n.Items() {
		nodes := []documents.Node{item}
		if item.IsText() {
			path, err := item.Text()
			if err != nil {
				return nil, err
			}
			data, err := f.readNamed(item, path)
			if err != nil {
				return nil, err
			}
			if nodes, err = documents.Parse(f.relative(path), data); err != nil {
				return nil, err
			}
		}
		for _, node := range nodes {
			object, err := f.object(node)
			if err != nil {
				return nil, err
			}
			all = append(all, object)
		}
	}
	return all, nil
}

func (f *File) object(n documents.Node) (dicts.Object, error) {
	object, err := n.Object()
	if err != nil {
		return nil, err
	}
	for _, path := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}} {
		if dicts.LookupString(object, path...) == "" {
			return nil, n.Errorf("an object without %s", dicts.Path(path))
		}
	}
	if !f.server().Has(dicts.LookupString(object, "apiVersion"), dicts.LookupString(object, "kind")) {
		f.resources = append(f.resources, apiserver.Guessed(object))
	}
	return object, nil
}

// server makes a server with the known resources.
func (f *File) server() *apiserver.Server { return apiserver.New(f.resources) }
