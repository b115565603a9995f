package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// cluster is a running control plane, made for this run and deleted after it.
type cluster struct {
	dir   string
	cmd   *exec.Cmd
	stdin io.Closer
	api   *api
	audit *audit
}

// startCluster returns when the control plane can be used. There are no controllers:
// nothing but the API server and etcd shares the processors with the operators.
func startCluster(ctx context.Context, binary string) (*cluster, error) {
	dir, err := os.MkdirTemp("", "kopf-bench-")
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir}
	c.cmd = exec.CommandContext(ctx, binary, "run", "--dir", dir, "--remove", "--until-stdin-closes",
		"--no-fsync", "--audit", "--controllers=false")
	var stderr bytes.Buffer
	c.cmd.Stderr = &stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	c.cmd.Cancel = c.stdin.Close // it deletes its folder then
	c.cmd.WaitDelay = stopTimeout
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the cluster: %w", err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n') // an early end is an empty line
	kubeconfig, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !ready {
		err := c.cmd.Wait()
		return nil, errors.Join(fmt.Errorf("the cluster: %w", err), errors.New(strings.TrimSpace(stderr.String())))
	}
	if c.api, err = newAPI(kubeconfig); err != nil {
		c.stop()
		return nil, err
	}
	c.audit = &audit{path: filepath.Join(dir, "audit.log")}
	return c, nil
}

// stop ends the control plane and deletes its folder.
func (c *cluster) stop() {
	_ = c.stdin.Close()
	_ = c.cmd.Wait() // its data are gone, and with them the interest in how it ended
}

// user is who the operator with this index is: they differ only in the audit log.
func user(index int) (name, token string) {
	return fmt.Sprintf("operator%da", index), fmt.Sprintf("operatortoken%da", index)
}

// kubeconfigFor writes a kubeconfig for the operator with this index.
func (c *cluster) kubeconfigFor(index int) (string, error) {
	config, err := clientcmd.LoadFromFile(filepath.Join(c.dir, "admin.kubeconfig"))
	if err != nil {
		return "", err
	}
	name, token := user(index)
	for key := range config.AuthInfos {
		config.AuthInfos[key] = &clientcmdapi.AuthInfo{Token: token}
	}
	path := filepath.Join(c.dir, name+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}
