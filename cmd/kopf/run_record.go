package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/recordings"
)

// recordOptions are the flags of recordings.
type recordOptions struct {
	path  string
	limit string
}

func (r *recordOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&r.path, "record", "", "record all calls of handlers to this `FILE`, for kopf replay")
	flags.StringVar(&r.limit, "record-limit", "256Mi", "the `SIZE` at which a recording takes no further calls")
}

func (r *recordOptions) check(o *runOptions) error {
	switch {
	case r.path == "" && o.flags.Changed("record"):
		return usageError{errors.New("--record is empty: name a file")}
	case r.path == "" && o.flags.Changed("record-limit"):
		return usageError{errors.New("--record-limit belongs to --record")}
	case r.path == "":
		return nil
	}
	if o.dev || o.follow > 0 {
		return usageError{errors.New("--record needs modules that are not replaced: use neither --dev nor --follow")}
	}
	if len(o.modules) == 1 && o.modules[0] == native {
		return usageError{errors.New("--record records modules, not native programs")}
	}
	_, err := r.size()
	return err
}

// size is the limit in bytes.
func (r *recordOptions) size() (int, error) {
	size, err := host.ParseSize(r.limit)
	if err != nil || size <= 0 {
		return 0, usageError{fmt.Errorf("--record-limit %s: want a size, like 64Mi", r.limit)}
	}
	return size, nil
}

// record runs an operator, and records it.
func (r *recordOptions) record(ctx context.Context, o operator.Options, secrets []string) error {
	size, err := r.size()
	if err != nil {
		return err
	}
	file, err := confidential(r.path)
	if err != nil {
		return err
	}
	return errors.Join(recordings.Run(ctx, o, file, size, secrets), file.Close())
}

// confidential begins a file that only its owner can read, since objects may be confidential. A file that exists may have been
// readable by others.
func confidential(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = file.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// secretNames are the names of the configuration that recordings do not contain.
func (o *runOptions) secretNames() []string {
	names := append([]string(nil), o.environment...)
	for _, item := range o.configFiles {
		key, _, _ := strings.Cut(item, "=")
		names = append(names, key)
	}
	return names
}
