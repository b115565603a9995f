package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/files"
)

// artifact is the JSON form of an inspected artifact.
type artifact struct {
	Reference   string                   `json:"reference"`
	Digest      string                   `json:"digest"`
	Module      string                   `json:"module"`
	Size        int64                    `json:"size"`
	MediaType   string                   `json:"mediaType"`
	Annotations map[string]string        `json:"annotations,omitempty"`
	Attached    []attachment             `json:"attached,omitempty"` // signatures as bundles, SBOMs, provenance
	Config      map[string]string        `json:"config,omitempty"`   // embedded in the module: for a script, its text
	Files       []string                 `json:"files,omitempty"`    // embedded in the module: packages of a script
	Imports     []string                 `json:"imports"`
	Declared    *declaration.Declaration `json:"declared"` // null: no declaration

	imports []host.Function
	files   *files.Set
}

type attachment struct {
	Type   string `json:"type"`
	Digest string `json:"digest"`
}

// inspectArtifact shows an artifact. It reads the module, but does not run it.
func (o *moduleOptions) inspectArtifact(ctx context.Context, name string, asJSON bool, stdout, stderr io.Writer) error {
	if len(o.config)+len(o.configFiles)+len(o.environment) > 0 || o.engine != "" || o.packages != "" {
		return usageError{errors.New("--config, --config-file, --env, --engine and --packages are for modules that are run, and an artifact is only read: pull it by kopf pull --output FILE, and inspect the file")}
	}
	finder, err := o.finder(stderr)
	if err != nil {
		return err
	}
	defer finder.Client.Close()
	found, err := finder.Open(ctx, name)
	if err != nil {
		return err
	}
	a, err := describe(found)
	if err != nil {
		return err
	}
	attached, err := finder.Attached(ctx, found.Manifest.Reference, false)
	if err != nil {
		return err
	}
	for _, d := range attached {
		a.Attached = append(a.Attached, attachment{Type: d.ArtifactType, Digest: d.Digest})
	}
	if asJSON {
		return printJSON(stdout, a)
	}
	return a.show(stdout)
}

func describe(found *modules.Found) (*artifact, error) {
	description, err := host.Describe(found.Module)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", found.Name, err)
	}
	m := found.Manifest
	return &artifact{
		Reference: m.Reference.String(), Digest: m.Reference.Digest, Module: m.Module.Digest, Size: m.Module.Size,
		MediaType: m.Module.MediaType, Annotations: m.Parsed.Annotations, Config: description.Config, Imports: host.FullNames(description.Imports), Declared: description.Declared,
		imports: description.Imports, Files: description.Files.Paths(), files: description.Files,
	}, nil
}

func (a *artifact) show(stdout io.Writer) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "artifact\t%s\n", cell(a.Reference))
	fmt.Fprintf(table, "module\t%s (%d bytes of %s)\n", cell(a.Module), a.Size, cell(a.MediaType))
	for _, key := range slices.Sorted(maps.Keys(a.Annotations)) {
		fmt.Fprintf(table, "%s\t%s\n", cell(key), cell(a.Annotations[key]))
	}
	for _, d := range a.Attached {
		fmt.Fprintf(table, "attached\t%s %s\n", cell(d.Type), cell(d.Digest))
	}
	showCarried(table, a.Config)
	showFiles(table, a.files)
	if a.Declared == nil {
		fmt.Fprintf(table, "imports\t%s\n", cell(importsOf(a.imports)))
		fmt.Fprintf(table, "declared\tnothing: what it registers shows when it is loaded\n")
		return table.Flush()
	}
	declared := "what it registers"
	if a.Declared.Dynamic {
		declared = "the most that it registers: it depends on the configuration"
	}
	fmt.Fprintf(table, "declared\t%s\n", declared)
	registration, err := a.Declared.Parsed()
	if err != nil {
		return err
	}
	if err := showRegistration(table, a.Reference, registration, a.imports); err != nil {
		return err
	}
	return table.Flush()
}
