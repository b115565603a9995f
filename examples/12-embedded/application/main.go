// Command application is an application in Go that starts an operator, gives it a memo, does its own work,
// and ends the operator. The operator may be written in any language.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/host/compiler"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/logs"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

func main() {
	compiler.Main() // modules are compiled by processes of their own
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := errors.New("usage: application OPERATOR.wasm")
	if len(os.Args) == 2 {
		log := logs.New(os.Stderr, logs.Options{Level: zerolog.DebugLevel})
		err = run(ctx, operator.Options{Modules: os.Args[1:], Namespaces: []string{"default"}, Log: log}, os.Stdout, time.Tick(time.Minute))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run is the application, which works for three minutes.
func run(ctx context.Context, o operator.Options, out io.Writer, minutes <-chan time.Time) error {
	o.Settings = settings.Default()
	o.Settings.Peering.Standalone = true
	o.Memo = &operator.Memo{}
	if err := errors.Join(o.Memo.Set("greeting", "Welcome, {name}!"), o.Memo.Set("farewell", "Farewell, {name}!")); err != nil {
		return err
	}
	op, err := operator.New(ctx, o)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- op.Run(ctx) }() // Waited for below.
	select {
	case <-op.Ready():
	case err := <-ended:
		return err
	}
	for n := range 3 {
		fmt.Fprintf(out, "the application works, minute %d of 3\n", n+1)
		select {
		case <-minutes:
		case err := <-ended:
			return err
		}
	}
	op.Stop()
	return <-ended
}
