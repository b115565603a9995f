package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/hosting/client"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedyaml"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/deployment"
	"github.com/kopf-wasm/kopf/operator/explanation"
)

// explainOptions are the flags of `kopf explain`.
type explainOptions struct {
	moduleOptions
	settingOptions
	hostOptions
	from, file  string
	output      outputFormat
	modules     []string
	definitions []string // files
}

func newExplainCmd(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	o := &explainOptions{}
	cmd := &cobra.Command{
		Use:   "explain RESOURCE/NAME --module OPERATOR.wasm|OPERATOR.js|OPERATOR.py|oci://REFERENCE",
		Short: "Say which handlers match an object, and why the others do not",
		Long: `Explain loads the modules of an operator, reads an object from the cluster of the current
context or from a file, and says what the operator would do: the cause, each handler with the
filters that exclude it, the stored progress, the finalizers, and what blocks a deletion.

It decides by the code of kopf run, and changes nothing. Startup handlers and filters that are
functions run in their sandbox, without requests. With --host or $KOPF_HOST, it also asks a
serving host how the operator does, and what it does for the object now.`,
		Example: `  kopf explain kopfexamples/kopf-example-1 -n default --module operator.wasm
  kopf explain pod/web-0 -n shop --module operator.py -o json
  kopf explain -f obj.yaml --crd crd.yaml --module operator.wasm`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd); err != nil {
				return err
			}
			if err := o.checkPackages(o.modules...); err != nil {
				return err
			}
			subject, err := o.subject(args, stdin)
			if err != nil {
				return err
			}
			return o.explain(cmd.Context(), subject, stdout, stderr)
		},
	}
	o.addExplainFlags(cmd)
	return cmd
}

func (o *explainOptions) addExplainFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.modules, "module", nil, "a module of the operator: a `FILE`, or an artifact of a registry (repeatable)")
	flags.StringVarP(&o.file, "filename", "f", "", "the `FILE` with the object, in YAML or JSON; - for the standard input. No cluster is asked")
	flags.StringArrayVar(&o.definitions, "crd", nil, "a `FILE` with the CustomResourceDefinition of the object in --filename (repeatable)")
	flags.StringVarP(&o.from, "namespace", "n", "", "the `namespace` of the object (default that of the context, or default)")
	o.output.addDataFlag(cmd)
	flags.StringVar(&o.url, "host", "", "the `URL` of a host that runs the operator, as kopf serve --listen serves it (default $KOPF_HOST; no host is asked without both)")
	flags.StringVar(&o.authorities, "certificate-authority", "", "the `file` with the certificate authorities of the host, in PEM (default those of the system)")
	o.addSettingFlags(flags)
	o.addModuleFlags(flags)
}

// subject checks the arguments, and reads the file.
func (o *explainOptions) subject(args []string, stdin io.Reader) (operator.Subject, error) {
	var s operator.Subject
	switch {
	case len(o.modules) == 0:
		return s, usageError{errors.New("name the module of the operator: --module operator.wasm")}
	case o.authorities != "" && o.url == "" && os.Getenv("KOPF_HOST") == "":
		return s, usageError{errors.New("--certificate-authority belongs to --host")}
	case o.file == "" && len(o.definitions) > 0:
		return s, usageError{errors.New("--crd belongs to --filename: the cluster knows its resources")}
	case o.file != "" && (len(args) > 0 || o.from != ""):
		return s, usageError{errors.New("either an object of the cluster can be named, or --filename: not both")}
	case o.file != "":
		return s, o.readObject(&s, stdin)
	}
	text := strings.Join(args, "/")
	resource, name, ok := strings.Cut(text, "/")
	if !ok || resource == "" || name == "" || strings.Contains(name, "/") {
		return s, usageError{fmt.Errorf("invalid object %q: name one as RESOURCE/NAME, such as kopfexamples/kopf-example-1, or a file with --filename", text)}
	}
	return operator.Subject{Resource: resource, Namespace: o.from, Name: name}, nil
}

// maxObject bounds the file with an object, in bytes: more than the API server stores.
const maxObject = 4 << 20

// readObject reads the object of --filename, and the definitions.
func (o *explainOptions) readObject(s *operator.Subject, stdin io.Reader) error {
	name, from := o.file, stdin
	if o.file == "-" {
		name = "standard input"
	} else {
		f, err := boundedfile.Open(o.file)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxObject+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case len(text) > maxObject:
		return fmt.Errorf("%s: the object is longer than 4 MiB", name)
	}
	if s.Object, err = objectOf(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.Resources, err = definitionsOf(o.definitions)
	return err
}

var (
	errNoObject    = errors.New("there is no object in it")
	errManyObjects = errors.New("there are several objects in it: name a file with one")
)

// objectOf returns the only object of a file in YAML or JSON, as JSON.
func objectOf(text []byte) ([]byte, error) {
	var object []byte
	for _, document := range bytes.Split(append([]byte("\n"), text...), []byte("\n---")) {
		if err := boundedyaml.Check(document); err != nil {
			return nil, err
		}
		converted, err := yaml.YAMLToJSON(document)
		switch {
		case err != nil:
			return nil, err
		case string(converted) == "null":
			continue
		case object != nil:
			return nil, errManyObjects
		case converted[0] != '{':
			return nil, errNoObject
		}
		object = converted
	}
	if object == nil {
		return nil, errNoObject
	}
	return object, nil
}

// definitionsOf reads the resources of files with definitions.
func definitionsOf(paths []string) ([]deployment.Resource, error) {
	var all []deployment.Resource
	for _, path := range paths {
		text, err := boundedfile.Read(path, boundedfile.MaxDocument)
		if err != nil {
			return nil, err
		}
		resources, err := deployment.Definitions(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, resources...)
	}
	return all, nil
}

// explained is an explanation, with what the command adds to it.
type explained struct {
	Modules []explainedModule `json:"modules"`
	*explanation.Explanation
	Hosted []hostedOperator `json:"hosted,omitempty"` // operators of the host with the same module
}

// hostedOperator is an operator of a host, with what it does for the object now.
type hostedOperator struct {
	facts.Operator
	Object *facts.Object `json:"object,omitempty"` // nil: unknown
}

// maxAsked bounds the operators of a host that are asked about the object.
const maxAsked = 20

type explainedModule struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

func (o *explainOptions) explain(ctx context.Context, subject operator.Subject, stdout, stderr io.Writer) error {
	config, err := o.guestConfig()
	if err != nil {
		return err
	}
	own, err := operator.ReadSettings(o.settingsFiles, o.set)
	if err != nil {
		return usageError{fmt.Errorf("settings: %w", err)}
	}
	if err := o.checkPull(); err != nil {
		return err
	}
	result := &explained{}
	var modules []*host.Module
	for _, name := range o.modules {
		module, err := o.load(ctx, name, config, stderr)
		if err != nil {
			return err
		}
		defer func() { _ = module.Close(ctx) }() // the process is ending
		modules = append(modules, module)
		result.Modules = append(result.Modules, explainedModule{Name: module.Name(), Digest: module.Digest()})
	}
	if result.Explanation, err = operator.Explain(ctx, modules, own, subject); err != nil {
		return err
	}
	o.askHost(ctx, result)
	return o.output.write(stdout, result, func() error { return result.print(stdout) })
}

// askHost adds what a host knows. A host that does not answer is noted: the rest is valid.
func (o *explainOptions) askHost(ctx context.Context, result *explained) {
	if o.url == "" && os.Getenv("KOPF_HOST") == "" {
		return
	}
	c, report, err := o.hostOptions.report(ctx)
	if err != nil {
		result.Notes = append(result.Notes, fmt.Sprintf("The host is unknown: %v", err))
		return
	}
	for _, f := range report.Operators {
		if slices.ContainsFunc(result.Modules, func(m explainedModule) bool { return m.Digest == f.Module.Digest }) {
			result.Hosted = append(result.Hosted, hostedOperator{Operator: f})
		}
	}
	if len(result.Hosted) == 0 {
		result.Notes = append(result.Notes, "The host runs no operator with this module: the digests of its modules differ")
	}
	result.askAbout(ctx, c)
}

// askAbout asks the operators of the host about the object. An object of a file may have no uid.
func (e *explained) askAbout(ctx context.Context, c *client.Client) {
	if e.Object.UID == "" {
		return
	}
	for i := range e.Hosted[:min(len(e.Hosted), maxAsked)] {
		found, err := c.Object(ctx, &e.Hosted[i].Operator, e.Object.UID)
		if err != nil {
			e.Notes = append(e.Notes, fmt.Sprintf("What %s does for the object is unknown: %v", e.Hosted[i].Operator.Title(), err))
			return // requests about the other operators would fail, too
		}
		e.Hosted[i].Object = found
	}
}
