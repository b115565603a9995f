package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// Values of --output.
const (
	outputText = "text"
	outputWide = "wide"
	outputJSON = "json"
	outputYAML = "yaml"
)

// outputFormat is the value of --output. It implements pflag.Value.
type outputFormat struct {
	name    string
	allowed []string
}

// addFlag adds --output with the formats that a command has. The default is the format's current name.
func (f *outputFormat) addFlag(cmd *cobra.Command, usage string, allowed ...string) {
	f.allowed = allowed
	cmd.Flags().VarP(f, "output", "o", usage)
	completeFlag(cmd, "output", allowed...)
}

// addDataFlag adds --output to a command that prints text, unless it is asked for data.
func (f *outputFormat) addDataFlag(cmd *cobra.Command) {
	f.name = outputText
	f.addFlag(cmd, "the `FORMAT`: text, json, or yaml", outputText, outputJSON, outputYAML)
}

// Set checks the name of a format.
func (f *outputFormat) Set(name string) error {
	if !slices.Contains(f.allowed, name) {
		return errors.New("want " + choice(f.allowed))
	}
	f.name = name
	return nil
}

// String returns the name of the format.
func (f *outputFormat) String() string { return f.name }

// Type makes pflag show the default in quotes.
func (f *outputFormat) Type() string { return "string" }

// write prints a value as data, or as text by a function.
func (f *outputFormat) write(to io.Writer, value any, text func() error) error {
	switch f.name {
	case outputJSON:
		return printJSON(to, value)
	case outputYAML:
		return printLegibleYAML(to, value)
	}
	return text()
}

// choice lists alternatives: a, b or c.
func choice(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// printJSON prints indented JSON.
func printJSON(to io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(append(text, '\n')) {
		if _, err := to.Write(append(legible.JSON(bytes.TrimSuffix(line, []byte("\n"))), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// printLegibleYAML prints a value that holds texts of others.
func printLegibleYAML(to io.Writer, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Fprintln(to, legible.Line(strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

// cell escapes an untrusted text for a table.
func cell(text string) string { return strings.ReplaceAll(legible.Line(text), "\t", `\t`) }

// orDash shows an empty cell.
func orDash(text string) string { return cmp.Or(text, "-") }

func shownTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// shortDigest shows the beginning of a digest.
func shortDigest(digest string) string {
	if digest == "" {
		return "-"
	}
	algorithm, sum, _ := strings.Cut(digest, ":")
	return cell(algorithm + ":" + sum[:min(len(sum), 12)])
}

func sizeText(size int64) string {
	if size < 1e6 {
		return fmt.Sprintf("%.1f KB", float64(size)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(size)/1e6)
}
