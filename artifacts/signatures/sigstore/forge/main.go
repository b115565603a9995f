// Command forge is a Sigstore for tests: authorities and logs that live as long as
// the process. It reads wishes from its standard input, and writes their signatures
// with the trusted root to its standard output.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// wish describes a signature to make.
type wish struct {
	Digest      string            `json:"digest"`
	Issuer      string            `json:"issuer"`
	Subject     string            `json:"subject"`
	Repository  string            `json:"repository"` // of GitHub: OWNER/NAME
	Annotations map[string]string `json:"annotations"`

	Tagged   bool `json:"tagged"`   // as cosign stores it under a tag, not as a bundle
	Expired  bool `json:"expired"`  // the certificate has expired when the log sees the signature
	Unlogged bool `json:"unlogged"` // the certificate is in no log
}

// made is a signature: a bundle, or a layer with its annotations.
type made struct {
	Bundle      json.RawMessage   `json:"bundle,omitempty"`
	Payload     []byte            `json:"payload,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var wishes []wish
	if err := json.NewDecoder(in).Decode(&wishes); err != nil {
		return err
	}
	f, err := newForge()
	if err != nil {
		return err
	}
	trusted, err := f.trusted()
	if err != nil {
		return err
	}
	var all []made
	for i := range wishes {
		sign := f.bundle
		if wishes[i].Tagged {
			sign = f.tagged
		}
		one, err := sign(&wishes[i])
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	return json.NewEncoder(out).Encode(map[string]any{"trust": trusted, "signatures": all})
}
