//go:build unix

package webhooks_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/webhooks"
)

// TestCertificatesReadNoEndlessFiles: no file of the webhook server is waited for without an end, or fills the memory. The end of its
// context would not end that.
func TestCertificatesReadNoEndlessFiles(t *testing.T) {
	folder := t.TempDir()
	certFile, keyFile := write(t, folder, pair(t, "x", nil))
	odd := t.TempDir()
	pipe, zero, large := filepath.Join(odd, "pipe"), filepath.Join(t.TempDir(), "zero"), filepath.Join(t.TempDir(), "large")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/dev/zero", zero), os.WriteFile(large, nil, 0o600), os.Truncate(large, 1<<40)); err != nil {
		t.Skip(err)
	}
	for _, file := range []string{pipe, zero, large} {
		for name, server := range map[string]webhooks.LocalServer{
			"certfile": {CertFile: file, KeyFile: keyFile}, "pkeyfile": {CertFile: certFile, KeyFile: file}, "cafile": {CertFile: certFile, KeyFile: keyFile, CAFile: file},
			"verify_cafile": {VerifyCAFile: file}, "verify_capath": {VerifyCAPath: filepath.Dir(file)},
		} {
			t.Run(name+" "+filepath.Base(file), func(t *testing.T) {
				ended := make(chan error, 1)
				go func() { ended <- server.Serve(t.Context(), nil, func(webhooks.ClientConfig) {}) }() // Until it ends, or the process.
				select {
				case err := <-ended:
					if err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
						t.Errorf("the error is %v", err)
					}
				case <-time.After(30 * time.Second):
					t.Fatal("the server does not end")
				}
			})
		}
	}
}
