package docs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/logs"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/stores"
)

// [embed]

func runOperator(ctx context.Context, module string) error {
	return operator.Run(ctx, operator.Options{
		Modules:    []string{module},
		Namespaces: []string{"default"},
		Settings:   ourSettings(),
		Host: host.Options{
			Config:    map[string]string{"region": "eu"},
			MaxMemory: 64 << 20,
			Stdout:    os.Stdout, // without it, lines become records in Log, as those of Stderr here
		},
		Log: logs.New(os.Stderr, logs.Options{Format: logs.JSON, Level: zerolog.InfoLevel}),
	})
}

// [/embed]

// [several]

func runTwo(ctx context.Context, memo *operator.Memo) error {
	shops, err := operator.New(ctx, operator.Options{
		Modules: []string{"shops.wasm"}, Namespaces: []string{"shops"},
		Memo: memo, // which the program and the handlers share
	})
	if err != nil {
		return err
	}
	bills, err := operator.New(ctx, operator.Options{
		Modules: []string{"bills.wasm"}, Namespaces: []string{"shops"}, Settings: ourSettings(),
		Login: operator.KubeconfigAt("/etc/bills/kubeconfig"),
	})
	if err != nil {
		return errors.Join(err, shops.Close(ctx))
	}
	return runAll(ctx, shops, bills)
}

func runAll(ctx context.Context, all ...*operator.Operator) error {
	ended := make(chan error, len(all))
	for _, op := range all {
		go func() { ended <- op.Run(ctx) }()
	}
	err := <-ended // one that ends takes the others along
	for _, op := range all {
		op.Stop()
	}
	for range all[1:] {
		err = errors.Join(err, <-ended)
	}
	return err
}

// [/several]

// [sharing]

func runSharing(ctx context.Context, modules []string) error {
	watches, err := operator.ShareWatches(ctx, operator.WatchesOptions{Login: operator.KubeconfigAt("/etc/host/kubeconfig")})
	if err != nil {
		return err
	}
	var all []*operator.Operator
	for _, module := range modules {
		op, err := operator.New(ctx, operator.Options{
			Modules: []string{module}, Watches: watches,
			Login: operator.KubeconfigAt("/etc/tenants/" + module + "/kubeconfig"),
		})
		if err != nil {
			return errors.Join(err, closeAll(ctx, all))
		}
		all = append(all, op)
	}
	return runAll(ctx, all...)
}

func closeAll(ctx context.Context, all []*operator.Operator) (err error) {
	for _, op := range all {
		err = errors.Join(err, op.Close(ctx))
	}
	return err
}

// [/sharing]

// [settings]

func ourSettings() *settings.Settings {
	s := settings.Default()
	s.Queueing.WorkerLimit = 20
	s.Persistence.Finalizer = "example.com/finalizer"
	s.Persistence.Progress = stores.NewStatusProgress(stores.StatusProgressOptions{Name: "my-operator"})
	return s
}

// [/settings]

// The code of the page runs until it needs a module.
func TestEmbedding(t *testing.T) {
	if err := runOperator(t.Context(), "nothing.wasm"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got the error %v, want %v", err, fs.ErrNotExist)
	}
	if err := runSharing(t.Context(), []string{"nowhere.wasm"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is no such kubeconfig", err)
	}
	if err := runTwo(t.Context(), &operator.Memo{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got the error %v, want %v", err, fs.ErrNotExist)
	}
}
