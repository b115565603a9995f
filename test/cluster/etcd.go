package main

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/kopf-wasm/kopf/test/cluster/internal/process"
)

// etcdName is etcd's name as a command of this binary.
const etcdName = "etcd"

// etcdSocket is where etcd listens, relative to the data folder. A socket in
// a private folder needs no port, no certificates and no passwords. Both sides
// have the folder as their working directory, because the path of a socket
// may not exceed a hundred characters or so.
const etcdSocket = "etcd.sock"

// etcdReadyFD is the descriptor of the pipe which the child closes when it
// takes requests.
const etcdReadyFD = 3

// maxObject is the size of the largest object, 4 MiB instead of etcd's default of
// 1.5 MiB: large bodies and their last-handled state are to be tested together.
const maxObject = 4 << 20

// newEtcdCommand makes the hidden command that the parent starts itself with.
// It is a process of its own, because etcd panics when its data is damaged.
func newEtcdCommand() *cobra.Command {
	var noFsync bool
	cmd := &cobra.Command{
		Use:    etcdName,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			process.AwaitParent()
			return serveEtcd(cmd.Context(), noFsync)
		},
	}
	cmd.Flags().BoolVar(&noFsync, "no-fsync", false, "do not wait for the disk")
	return cmd
}

// serveEtcd runs etcd in the working directory until the context ends.
func serveEtcd(ctx context.Context, noFsync bool) error {
	server, err := embed.StartEtcd(etcdConfig(noFsync))
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return err
	case <-ctx.Done():
		return nil
	}
	if err := os.NewFile(etcdReadyFD, "ready").Close(); err != nil {
		return fmt.Errorf("ready: %w", err)
	}
	select {
	case err := <-server.Err():
		return err
	case <-ctx.Done():
		return nil
	}
}

func etcdConfig(noFsync bool) *embed.Config {
	// There is one member, so no other one connects to the advertised address.
	nowhere := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg := embed.NewConfig()
	cfg.Name = "devcluster"
	cfg.Dir = "etcd"
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Host: etcdSocket}}
	cfg.ListenPeerUrls = []url.URL{{Scheme: "unix", Host: "etcd-peer.sock"}}
	cfg.AdvertiseClientUrls, cfg.AdvertisePeerUrls = nowhere, nowhere
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.EnableGRPCGateway = false // it would dial what is advertised
	cfg.UnsafeNoFsync = noFsync
	cfg.LogLevel = "warn"
	cfg.MaxRequestBytes = maxObject
	// These two have defaults only on etcd's command line; with 0 every
	// request would be a slow one, worth a warning.
	cfg.WarningApplyDuration = embed.DefaultWarningApplyDuration
	cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	return cfg
}
