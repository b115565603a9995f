package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kopf-wasm/kopf/test/cluster/internal/cli"
	"github.com/kopf-wasm/kopf/test/cluster/internal/datadir"
	"github.com/kopf-wasm/kopf/test/cluster/internal/process"
	"github.com/kopf-wasm/kopf/test/cluster/internal/ready"
	"github.com/kopf-wasm/kopf/test/cluster/internal/socket"
)

// errStdinClosed ends a cluster whose starter is gone. It is not a failure.
var errStdinClosed = errors.New("the standard input was closed")

// runCluster is the command run.
func runCluster(ctx context.Context, o cli.Options) (err error) {
	dir, err := datadir.Open(o.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release(dir, o.Remove)) }()

	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if o.UntilStdinCloses {
		go func() { // until the end of this process
			process.WaitClosed(o.Stdin)
			end(errStdinClosed)
		}()
	}
	err = serve(ctx, end, dir, o)
	if errors.Is(err, context.Canceled) || errors.Is(err, errStdinClosed) {
		return nil // asked for, even if the start was not complete
	}
	return err
}

func release(dir *datadir.Folder, remove bool) error {
	if remove {
		return dir.Remove()
	}
	return dir.Close()
}

// serve runs the cluster until the context ends. A part that ends earlier
// ends the context by end, with its error as the cause.
func serve(ctx context.Context, end context.CancelCauseFunc, dir *datadir.Folder, o cli.Options) error {
	access, err := prepare(dir, o)
	if err != nil {
		return err
	}
	parts, err := startParts(end, dir, access.listener, o)
	if err != nil {
		return err
	}
	defer parts.stop()

	starting, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, fmt.Errorf("no success in %v", o.StartTimeout))
	defer cancel()
	if err := awaitReady(starting, parts, access); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(o.Stdout, "ready", dir.Path(datadir.KubeconfigFile)); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// awaitReady lets the parts go on one after the other, each when the one that
// it needs is ready, and returns when the cluster can be used.
func awaitReady(ctx context.Context, p *parts, a *access) error {
	prober, err := ready.New(a.server, a.ca, a.token)
	if err != nil {
		return err
	}
	defer prober.Close()
	steps := []struct {
		part  *process.Component
		ready func(context.Context) error
	}{
		{p.etcd, p.awaitEtcd},
		{p.api, prober.APIServer},
		{p.manager, prober.Controllers},
	}
	for _, step := range steps {
		if step.part == nil {
			continue
		}
		if err := step.part.Release(); err != nil {
			return err
		}
		err := step.ready(ctx)
		switch {
		case errors.Is(ctx.Err(), context.Canceled): // by a signal, or by the end of a part
			return context.Cause(ctx)
		case err != nil:
			return step.part.Explain(err)
		}
	}
	return nil
}

// access is how clients reach the cluster of one start.
type access struct {
	listener *os.File // the bound socket of the API server
	server   string   // its URL
	ca       []byte   // PEM
	token    string   // of the administrator
}

// prepare writes all files of the folder and binds the port.
func prepare(dir *datadir.Folder, o cli.Options) (*access, error) {
	if err := dir.EnsureKeys(); err != nil {
		return nil, err
	}
	token, err := dir.WriteTokens(o.Tokens)
	if err != nil {
		return nil, err
	}
	if o.Audit {
		if err := dir.WriteAuditPolicy(datadir.AuditUsers(o.AuditUsers)); err != nil {
			return nil, fmt.Errorf("audit policy: %w", err)
		}
	}
	ca, err := os.ReadFile(dir.Path(datadir.CACertFile))
	if err != nil {
		return nil, err
	}
	listener, port, err := socket.Listen(o.Port, dir.Port())
	if err != nil {
		return nil, err
	}
	server := fmt.Sprintf("https://127.0.0.1:%d", port)
	if err := errors.Join(dir.SetPort(port), dir.WriteKubeconfig(server, token)); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return &access{listener: listener, server: server, ca: ca, token: token}, nil
}
