// Command kopf-sigstore checks signatures by certificates, for kopf: it reads a
// request from its standard input, and writes an answer to its standard output.
//
// It is a program of its own because the libraries of Sigstore cost each process that
// is linked with them, whether it has signatures to check or not. See RATIONALE.md.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// request is what is to be checked; artifacts/signatures writes it.
type request struct {
	Digest     string          `json:"digest"`          // of the artifact: "sha256:" and hexadecimal digits
	Trust      json.RawMessage `json:"trust,omitempty"` // a trusted root, or a trust configuration of a client; none: the public Sigstore's
	Cache      string          `json:"cache,omitempty"` // the folder for what is known of the public one
	Signatures []signature     `json:"signatures"`
}

// signature is a bundle, or the parts that cosign puts under a tag.
type signature struct {
	Bundle      json.RawMessage `json:"bundle,omitempty"`
	Payload     []byte          `json:"payload,omitempty"`
	Raw         []byte          `json:"raw,omitempty"`
	Certificate string          `json:"certificate,omitempty"` // PEM
	Log         string          `json:"log,omitempty"`         // the entry of a transparency log: JSON of cosign
	Timestamp   string          `json:"timestamp,omitempty"`   // of an authority for timestamps: JSON of cosign
}

// finding is what was found out about the signature of the same position.
type finding struct {
	Payload    []byte `json:"payload,omitempty"` // what was signed
	Issuer     string `json:"issuer,omitempty"`  // who knows the subject
	Subject    string `json:"subject,omitempty"` // whom the certificate was issued for
	Repository string `json:"repository,omitempty"`
	Error      string `json:"error,omitempty"` // why it is no signature; nothing else is set then
}

// maxRequest bounds a request, in bytes.
const maxRequest = 256 << 20

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var req request
	if err := json.NewDecoder(io.LimitReader(in, maxRequest)).Decode(&req); err != nil {
		return fmt.Errorf("the request: %w (this program is for kopf only)", err)
	}
	trusted, err := trust(&req)
	if err != nil {
		return err
	}
	verifier, err := demands(trusted)
	if err != nil {
		return err
	}
	found := make([]finding, len(req.Signatures))
	for i := range req.Signatures {
		if found[i], err = check(verifier, req.Digest, &req.Signatures[i]); err != nil {
			found[i] = finding{Error: err.Error()}
		}
	}
	return json.NewEncoder(out).Encode(found)
}
