package main

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-wasm/kopf/test/bench/controlplane"
)

// cluster is a running control plane with the driver's client.
type cluster struct {
	*controlplane.Cluster
	api   *api
	audit *audit
}

// startCluster returns when the control plane serves the resource of the operators.
func (o *options) startCluster(ctx context.Context) (*cluster, error) {
	fmt.Fprintln(o.Log, "starting a cluster...")
	plane, err := controlplane.Start(ctx, o.Cluster, "--audit")
	if err != nil {
		return nil, err
	}
	c := &cluster{Cluster: plane, audit: &audit{path: filepath.Join(plane.Dir, "audit.log")}}
	if c.api, err = newAPI(plane.Kubeconfig); err == nil {
		err = c.api.define(ctx)
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// stop ends the control plane. How it ends does not matter: its data are gone.
func (c *cluster) stop() { _ = c.Stop() }

// user is who the operator with this index is: they differ only in the audit log.
func user(index int) (name, token string) {
	return fmt.Sprintf("operator%da", index), fmt.Sprintf("operatortoken%da", index)
}

// kubeconfigFor writes a kubeconfig for the operator with this index.
func (c *cluster) kubeconfigFor(index int) (string, error) {
	config, err := clientcmd.LoadFromFile(filepath.Join(c.Dir, "admin.kubeconfig"))
	if err != nil {
		return "", err
	}
	name, token := user(index)
	for key := range config.AuthInfos {
		config.AuthInfos[key] = &clientcmdapi.AuthInfo{Token: token}
	}
	path := filepath.Join(c.Dir, name+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}
