package webhooks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// keyPair is a certificate with its key, and the authorities that clients have to trust, in
// PEM. Nil authorities mean the client's default.
type keyPair struct {
	cert   *tls.Certificate // nil for HTTP
	bundle []byte
}

// equal compares the certificates, with those between them and an authority, and the authorities.
func (p *keyPair) equal(other *keyPair) bool {
	return bytes.Equal(p.bundle, other.bundle) && slices.EqualFunc(p.cert.Certificate, other.cert.Certificate, bytes.Equal)
}

// source provides the certificate of a server.
type source interface {
	load(ctx context.Context) (*keyPair, error)

	// every is the time between two loads; 0: the certificate never changes.
	every() time.Duration
}

// watch passes new certificates to update until the context ends. It logs failures, because
// the old certificate remains valid for a while.
func watch(ctx context.Context, from source, present *keyPair, log zerolog.Logger, update func(*keyPair) error) {
	if from.every() == 0 {
		return
	}
	repeatedly(ctx, from.every(), func() {
		next, err := from.load(ctx)
		if err == nil && !next.equal(present) {
			present = next
			log.Info().Msg("The certificate of the webhook server is renewed.")
			err = update(next)
		}
		if err != nil && ctx.Err() == nil {
			log.Error().Msg(fmt.Sprintf("The certificate of the webhook server cannot be renewed: %v", err))
		}
	})
}

// fixed has no certificate, or a certificate from outside this package.
type fixed struct{ bundle func() ([]byte, error) }

func (f fixed) load(context.Context) (*keyPair, error) {
	bundle, err := f.bundle()
	return &keyPair{bundle: bundle}, err
}

func (fixed) every() time.Duration { return 0 }

// repeatedly calls do at each interval until the context ends.
func repeatedly(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// maxFile bounds a file of certificates or keys, in bytes: some hundreds of authorities.
const maxFile = 1 << 20

// readFile reads a file of certificates or keys. It waits for no pipe, and reads no device: the files are read again and again.
func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return boundedfile.Read(path, maxFile)
}

// files is a certificate in files, which are read again and again, because mounted secrets change
// without notifications. A half-written file is read again at the next check.
type files struct {
	cert, key string
	password  string
	bundle    func() ([]byte, error) // returns nil: the certificate is its own authority
	interval  time.Duration
}

// defaultCheckInterval is the default of Kopf.
const defaultCheckInterval = time.Minute

func (f *files) load(context.Context) (*keyPair, error) {
	text, err := readFile(f.cert)
	if err != nil {
		return nil, fmt.Errorf("certfile of the webhook server: %w", err)
	}
	key, err := readFile(f.key)
	if err != nil {
		return nil, fmt.Errorf("pkeyfile of the webhook server: %w", err)
	}
	bundle, err := f.bundle()
	if err != nil {
		return nil, err
	}
	if key, err = decryptKey(key, f.password); err != nil {
		return nil, fmt.Errorf("pkeyfile of the webhook server: %s: %w", f.key, err)
	}
	cert, err := tls.X509KeyPair(text, key)
	if err != nil {
		return nil, fmt.Errorf("certfile and pkeyfile of the webhook server: %w", err)
	}
	if bundle == nil {
		bundle = text
	}
	return &keyPair{&cert, bundle}, nil
}

func (f *files) every() time.Duration { return cmp.Or(f.interval, defaultCheckInterval) }

// generated is a certificate that only this process knows. It is renewed before it expires,
// by the schedule of shared certificates.
type generated struct {
	names    []string
	schedule schedule
	state    *bundle
}

func (g *generated) load(context.Context) (*keyPair, error) {
	next, err := g.schedule.next(g.state, g.names, time.Now())
	if err != nil {
		return nil, err
	}
	g.state = next
	return next.keyPair(), nil
}

func (g *generated) every() time.Duration { return g.schedule.check }
