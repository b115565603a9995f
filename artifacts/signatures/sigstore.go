package signatures

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// Sigstore verifies certificate signatures with a separate program: see RATIONALE.md. The
// zero value is valid.
type Sigstore struct {
	// Program is the path of kopf-sigstore. By default, it is in this program's directory or
	// in PATH.
	Program string

	// Trust is a JSON file with a trusted root or a client trust configuration. Default:
	// kopf/trusted_root.json in the user's configuration directory. Without that file, the
	// trusted root of the public Sigstore is fetched once a day.
	Trust string
}

// sigstoreProgram is the name of the program, cmd/kopf-sigstore.
const sigstoreProgram = "kopf-sigstore"

// sigstoreTime bounds the run time of the program, including the fetch of a trusted root.
const sigstoreTime = time.Minute

// maxSaid bounds what errors quote from the program, in bytes.
const maxSaid = 300

// sigstoreRequest is the input of the program, and sigstoreSignature a part of it.
type sigstoreRequest struct {
	Digest     string              `json:"digest"`
	Trust      json.RawMessage     `json:"trust,omitempty"`
	Cache      string              `json:"cache,omitempty"`
	Signatures []sigstoreSignature `json:"signatures"`
}

type sigstoreSignature struct {
	Bundle      json.RawMessage `json:"bundle,omitempty"`
	Payload     []byte          `json:"payload,omitempty"`
	Raw         []byte          `json:"raw,omitempty"`
	Certificate string          `json:"certificate,omitempty"`
	Log         string          `json:"log,omitempty"`
	Timestamp   string          `json:"timestamp,omitempty"`
}

// sigstoreFinding is the program's result for a signature.
type sigstoreFinding struct {
	Payload    []byte `json:"payload"`
	Issuer     string `json:"issuer"`
	Subject    string `json:"subject"`
	Repository string `json:"repository"`
	Error      string `json:"error"`
}

// check returns the signers with certificates, and the faults of the other signatures.
func (s *Sigstore) check(ctx context.Context, digest string, found []Signature) (signers []*Signer, problems []string, err error) {
	if len(found) == 0 {
		return nil, nil, nil
	}
	findings, err := s.ask(ctx, digest, found)
	if err != nil {
		return nil, nil, fmt.Errorf("looking at certificates: %w", err)
	}
	for i, f := range findings {
		signer, err := f.signer(digest, found[i].Bundle != nil)
		if err != nil {
			problems = append(problems, found[i].Where+": "+err.Error())
			continue
		}
		signers = append(signers, signer)
	}
	return signers, problems, nil
}

// signer decodes the content that the program has verified. It does not use the content of
// the request.
func (f *sigstoreFinding) signer(digest string, isBundle bool) (*Signer, error) {
	if f.Error != "" {
		return nil, errors.New(legible.Short(f.Error, maxSaid))
	}
	read := readPayload
	if isBundle {
		read = readStatement
	}
	annotations, err := read(f.Payload, digest)
	if err != nil {
		return nil, err
	}
	about := &issued{issuer: f.Issuer, subject: f.Subject, repository: f.Repository}
	return &Signer{Identity: legible.Short(about.identity(), maxSaid), Annotations: annotations, issued: about}, nil
}

// ask runs the program.
func (s *Sigstore) ask(ctx context.Context, digest string, found []Signature) ([]sigstoreFinding, error) {
	req := sigstoreRequest{Digest: digest}
	trusted, err := s.trust()
	if err != nil {
		return nil, err
	}
	req.Trust = trusted
	if dir, err := os.UserCacheDir(); err == nil {
		req.Cache = filepath.Join(dir, "kopf", "sigstore")
	}
	for i := range found {
		one := &found[i]
		req.Signatures = append(req.Signatures, sigstoreSignature{one.Bundle, one.Payload, one.Raw, one.Certificate, one.Log, one.Timestamp})
	}
	input, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	output, err := s.run(ctx, input)
	if err != nil {
		return nil, err
	}
	var findings []sigstoreFinding
	if err := json.Unmarshal(output, &findings); err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", sigstoreProgram, err)
	}
	if len(findings) != len(found) {
		return nil, fmt.Errorf("%s answers about %d signatures, not about %d", sigstoreProgram, len(findings), len(found))
	}
	return findings, nil
}

func (s *Sigstore) run(ctx context.Context, input []byte) ([]byte, error) {
	path, err := s.program()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, sigstoreTime)
	defer cancel()
	var output, said bytes.Buffer
	cmd := exec.CommandContext(ctx, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &output, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("%s: %w", legible.Short(strings.TrimSpace(sigstoreProgram+": "+said.String()), maxSaid), err)
	}
	return output.Bytes(), nil
}

// program returns the path of the program.
func (s *Sigstore) program() (string, error) {
	if s.Program != "" {
		return s.Program, nil
	}
	if own, err := os.Executable(); err == nil {
		sibling := filepath.Join(filepath.Dir(own), sigstoreProgram)
		if _, err := os.Stat(sibling); err == nil {
			return sibling, nil
		}
	}
	path, err := exec.LookPath(sigstoreProgram)
	if err != nil {
		return "", fmt.Errorf("the program %s is required, but is neither in the directory of this program nor in PATH", sigstoreProgram)
	}
	return path, nil
}

// trust reads the file of trusted roots. It returns nil if the default file does not exist.
func (s *Sigstore) trust() (json.RawMessage, error) {
	path := s.Trust
	if path == "" {
		path = configured("trusted_root.json")
	}
	text, err := os.ReadFile(path)
	switch {
	case s.Trust == "" && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the trusted root: %w", err)
	case !json.Valid(text):
		return nil, fmt.Errorf("the trusted root: %s is no JSON", path)
	}
	return text, nil
}
