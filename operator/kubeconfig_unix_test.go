//go:build unix

package operator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKubeconfigsReadNoEndlessFiles: neither a kubeconfig nor a file that it names is waited for without an end, or fills the memory.
// A login does not end with its context while it reads.
func TestKubeconfigsReadNoEndlessFiles(t *testing.T) {
	const whole = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
	dir := t.TempDir()
	pipe, zero, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "zero"), filepath.Join(dir, "large")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/dev/zero", zero), os.WriteFile(large, nil, 0o600), os.Truncate(large, 1<<40)); err != nil {
		t.Skip(err)
	}
	type attack struct{ name, path, env string }
	attacks := []attack{}
	for _, file := range []string{pipe, zero, large} {
		attacks = append(attacks, attack{"the file", file, ""}, attack{"the variable", "", file}, attack{"one of the variable", "", filepath.Join(dir, "absent") + ":" + file})
		for _, field := range []string{"certificate-authority", "client-certificate", "client-key", "tokenFile"} {
			cluster, user := "{server: 'https://localhost:1'", "{"
			switch {
			case field == "certificate-authority":
				cluster += ", " + field + ": " + file
			case field == "client-key":
				user += "client-certificate-data: eA==, " + field + ": " + file
			case field == "client-certificate":
				user += "client-key-data: eA==, " + field + ": " + file
			default:
				user += field + ": " + file
			}
			path := filepath.Join(dir, field+"-"+filepath.Base(file))
			text := whole + fmt.Sprintf("clusters: [{name: c, cluster: %s}}]\nusers: [{name: u, user: %s}}]\n", cluster, user)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			attacks = append(attacks, attack{field, path, ""})
		}
	}
	for _, a := range attacks {
		t.Run(a.name+" "+filepath.Base(a.path+a.env), func(t *testing.T) {
			login := KubeconfigAt(a.path)
			if a.env != "" {
				t.Setenv("KUBECONFIG", a.env)
				login = Kubeconfig
			}
			ended := make(chan error, 1)
			go func() { // Until it ends, or the process.
				_, err := login(t.Context())
				ended <- err
			}()
			select {
			case err := <-ended:
				if err == nil || strings.Contains(err.Error(), "\n") {
					t.Errorf("the error is %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the login does not end")
			}
		})
	}
}

// TestErrorsOfKubeconfigsAreShort: whatever the file has, the error is one line that can be read.
func TestErrorsOfKubeconfigsAreShort(t *testing.T) {
	long, path := strings.Repeat("x", 100_000), filepath.Join(t.TempDir(), "config")
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'i'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9))
	}
	for name, text := range map[string]string{
		"a long context": "current-context: " + long, "a long cluster": "current-context: c\ncontexts: [{name: c, context: {cluster: " + long + "}}]",
		"equal names": "contexts: [" + strings.Repeat("{name: a},", 10_000) + "]", "aliases": bomb, "levels": strings.Repeat("[", 100_000), "zeros": strings.Repeat("\x00", 1000),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := KubeconfigAt(path)(t.Context()); err == nil || len(err.Error()) > 2000 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %.3000v", name, err)
		}
	}
}

// TestKubeconfigsComeFromPipes: shells make them, as in --kubeconfig <(decrypt file).
func TestKubeconfigsComeFromPipes(t *testing.T) {
	text := []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, namespace: ns1}}]\nclusters: [{name: c, cluster: {server: 'https://localhost:1'}}]\n")
	for _, env := range []bool{false, true} {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		if _, err := writer.Write(text); err != nil {
			t.Fatal(err)
		}
		writer.Close()
		path := fmt.Sprintf("/dev/fd/%d", reader.Fd())
		login := KubeconfigAt(path)
		if env {
			t.Setenv("KUBECONFIG", path)
			login = Kubeconfig
		}
		info, err := login(t.Context())
		if err != nil || info.Config.Host != "https://localhost:1" || info.DefaultNamespace != "ns1" {
			t.Errorf("%+v, %v", info, err)
		}
	}
}
