// Package datadir makes and keeps the files of one cluster: keys, certificates,
// tokens, the audit policy and the kubeconfig. A folder belongs to one running
// cluster at a time, and outlives it: a cluster started on it again has the
// same certificates, the same administrator and, if possible, the same port.
package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrInUse means that another running cluster has the folder.
var ErrInUse = errors.New("the folder is in use by another running cluster")

// Folder is the data folder of one cluster, held for this process alone.
type Folder struct {
	path string
	lock *os.File
}

// Open makes the folder if it is missing, readable by its owner only, and
// takes it for this process. The claim ends with Close or with the process,
// however it ends. The error is ErrInUse if another process has the folder.
func Open(path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w (process %s)", path, ErrInUse, holder(lock))
		}
		return nil, fmt.Errorf("data folder: lock: %w", err)
	}
	return &Folder{path: path, lock: lock}, recordHolder(lock)
}

// Close gives the folder up. Its files stay.
func (f *Folder) Close() error { return f.lock.Close() }

// Remove deletes the folder with everything in it and gives it up.
func (f *Folder) Remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// Path returns the absolute path of a file of the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.path, name) }

// Port returns the port that the API server had when the folder was used
// last, or 0.
func (f *Folder) Port() int {
	text, err := os.ReadFile(f.Path("port"))
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0 // a damaged note is as good as none: any free port will do
	}
	return port
}

// SetPort records the port for the next start.
func (f *Folder) SetPort(port int) error {
	return os.WriteFile(f.Path("port"), []byte(strconv.Itoa(port)+"\n"), 0o600)
}

// recordHolder writes the id of this process into the lock, for the error of the
// next process that tries.
func recordHolder(lock *os.File) error {
	if err := lock.Truncate(0); err != nil {
		return fmt.Errorf("data folder: lock: %w", err)
	}
	if _, err := lock.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return fmt.Errorf("data folder: lock: %w", err)
	}
	return nil
}

func holder(lock *os.File) string {
	text := make([]byte, 20)
	n, _ := lock.ReadAt(text, 0)
	if n == 0 {
		return "unknown"
	}
	return string(text[:n])
}
