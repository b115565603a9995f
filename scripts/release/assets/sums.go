package assets

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/artifacts/signatures"
)

// Checksums is the name of the file with the checksums of all other files, in the format of sha256sum.
const Checksums = "SHA256SUMS"

// Pushed is the name of the file that lists what was pushed to a registry. It is no file of the release.
const Pushed = "pushed.txt"

// errEmpty means that a folder has no release.
var errEmpty = errors.New("there are no files of a release: run make release")

// Seal writes the checksums of all files of a folder, and signs them with a key, in the form of
// `cosign sign-blob`. It is the last step of a release, because crates are packed after Make. A nil key
// makes no signature.
//
// Errors: the folder has no files, or cannot be read or written.
func Seal(folder string, key *signatures.PrivateKey) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, entry := range entries {
		if entry.IsDir() || strings.HasPrefix(entry.Name(), Checksums) || entry.Name() == Pushed {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(text), entry.Name())
	}
	if lines.Len() == 0 {
		return fmt.Errorf("%s: %w", folder, errEmpty)
	}
	path := filepath.Join(folder, Checksums)
	if err := removeSignatures(path); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o644); err != nil || key == nil {
		return err
	}
	signature, err := key.Sign([]byte(lines.String()))
	if err != nil {
		return err
	}
	return os.WriteFile(path+".sig", []byte(base64.StdEncoding.EncodeToString(signature)), 0o644)
}

// removeSignatures removes the signatures of former checksums.
func removeSignatures(path string) error {
	former, err := filepath.Glob(path + ".*")
	if err != nil {
		return err
	}
	for _, name := range former {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}
