package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kopf-wasm/kopf/test/cluster/internal/cli"
	"github.com/kopf-wasm/kopf/test/cluster/internal/datadir"
	"github.com/kopf-wasm/kopf/test/cluster/internal/process"
)

// How long a part may take to end after the signal. The API server finishes
// its requests in some 20 ms, but would wait for open watches and its own
// loops much longer. Etcd has no clients by then.
const (
	apiServerGrace = 500 * time.Millisecond
	etcdGrace      = 5 * time.Second
)

// parts are the processes of a cluster. All are started at once, to load in
// parallel, and wait to be released.
type parts struct {
	etcd    *process.Component
	api     *process.Component
	manager *process.Component // nil: no controllers wanted

	etcdReady *os.File // a pipe, closed on the other side when etcd is ready
}

// startParts starts the processes. It takes the listener over.
func startParts(end context.CancelCauseFunc, dir *datadir.Folder, listener *os.File, o cli.Options) (*parts, error) {
	// The children have copies of these; a copy here would keep the port
	// open after the server's end, and the pipe after etcd's.
	defer listener.Close()
	etcdReady, etcdReadyChild, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	defer etcdReadyChild.Close()

	p := &parts{etcdReady: etcdReady}
	etcdArgs := []string{fmt.Sprintf("--no-fsync=%t", o.NoFsync)}
	p.etcd, err = startPart(end, dir, etcdName, etcdArgs, etcdReadyChild)
	if err == nil {
		p.api, err = startPart(end, dir, apiServerName, apiServerArgs(dir, o.Audit), listener)
	}
	if err == nil && o.Controllers {
		p.manager, err = startPart(end, dir, controllersName, controllersArgs(dir))
	}
	if err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// startPart starts this binary again as one of its hidden commands, and ends
// the whole if that ends.
func startPart(end context.CancelCauseFunc, dir *datadir.Folder, name string, args []string, files ...*os.File) (*process.Component, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	part, err := process.Start(process.Spec{
		Name:    name,
		Program: program,
		Args:    append([]string{name}, args...),
		Dir:     dir.Path("."),
		Log:     dir.Path(name + ".log"),
		Files:   files,
	})
	if err != nil {
		return nil, err
	}
	go func() { // until part.Stop
		<-part.Exited()
		end(part.Err())
	}()
	return part, nil
}

// awaitEtcd returns when etcd takes requests.
func (p *parts) awaitEtcd(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = p.etcdReady.SetReadDeadline(time.Now()) })
	defer stop()
	_, err := io.Copy(io.Discard, p.etcdReady)
	if err != nil {
		return fmt.Errorf("not ready: %w", errors.Join(context.Cause(ctx), err))
	}
	return nil
}

// stop ends the processes in the order in which they depend on each other.
func (p *parts) stop() {
	if p.manager != nil {
		p.manager.Stop(0) // it has nothing to save
	}
	if p.api != nil {
		p.api.Stop(apiServerGrace)
	}
	if p.etcd != nil {
		p.etcd.Stop(etcdGrace)
	}
	_ = p.etcdReady.Close() // only ever read
}
