package certificates

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

// Pair is a certificate with its key, and the authorities that clients have to trust.
type Pair struct {
	Certificate *tls.Certificate // nil for HTTP, and if the server has another one
	Authorities []byte           // in PEM; nil: the default of the client
}

// equal compares the certificates, with those between them and an authority, and the authorities.
func (p *Pair) equal(other *Pair) bool {
	return bytes.Equal(p.Authorities, other.Authorities) && slices.EqualFunc(p.Certificate.Certificate, other.Certificate.Certificate, bytes.Equal)
}

// Source provides the certificate of a server.
type Source interface {
	// Load returns the present certificate.
	Load(ctx context.Context) (*Pair, error)

	// Every is the time between two loads; 0: the certificate never changes.
	Every() time.Duration
}

// Watch passes new certificates to update until the context ends. It logs failures, because
// the old certificate remains valid for a while.
func Watch(ctx context.Context, from Source, present *Pair, log zerolog.Logger, update func(*Pair) error) {
	if from.Every() == 0 {
		return
	}
	Repeatedly(ctx, from.Every(), func() {
		next, err := from.Load(ctx)
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

// Fixed has no certificate of its own: the server needs none, or has another one.
type Fixed struct {
	Authorities func() ([]byte, error) // in PEM; it returns nil for the default of the client
}

// Load implements Source.
func (f Fixed) Load(context.Context) (*Pair, error) {
	authorities, err := f.Authorities()
	return &Pair{Authorities: authorities}, err
}

// Every implements Source.
func (Fixed) Every() time.Duration { return 0 }

// Repeatedly calls do at each interval until the context ends.
func Repeatedly(ctx context.Context, interval time.Duration, do func()) {
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

// ReadFile reads a file of certificates or keys. It waits for no pipe, and reads no device: the files are read again and again.
func ReadFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return boundedfile.Read(path, maxFile)
}

// Files is a certificate in files, which are read again and again, because mounted secrets change
// without notifications. A half-written file is read again at the next check.
type Files struct {
	Certificate, Key string                 // the paths
	Password         string                 // of the key
	Authorities      func() ([]byte, error) // in PEM; it returns nil if the certificate is its own authority
	Interval         time.Duration          // between two loads; 0: DefaultInterval
}

// DefaultInterval is the time between two looks at files, as in Kopf.
const DefaultInterval = time.Minute

// Load implements Source. Its errors name the options of the webhook server.
func (f *Files) Load(context.Context) (*Pair, error) {
	text, err := ReadFile(f.Certificate)
	if err != nil {
		return nil, fmt.Errorf("certfile of the webhook server: %w", err)
	}
	key, err := ReadFile(f.Key)
	if err != nil {
		return nil, fmt.Errorf("pkeyfile of the webhook server: %w", err)
	}
	authorities, err := f.Authorities()
	if err != nil {
		return nil, err
	}
	if key, err = decryptKey(key, f.Password); err != nil {
		return nil, fmt.Errorf("pkeyfile of the webhook server: %s: %w", f.Key, err)
	}
	cert, err := tls.X509KeyPair(text, key)
	if err != nil {
		return nil, fmt.Errorf("certfile and pkeyfile of the webhook server: %w", err)
	}
	if authorities == nil {
		authorities = text
	}
	return &Pair{&cert, authorities}, nil
}

// Every implements Source.
func (f *Files) Every() time.Duration { return cmp.Or(f.Interval, DefaultInterval) }

// Generated is a certificate that only this process knows. It is renewed before it expires,
// by the schedule of shared certificates.
type Generated struct {
	Names    []string // of the server, or its addresses
	Schedule Schedule

	present *bundle
}

// Load implements Source.
func (g *Generated) Load(context.Context) (*Pair, error) {
	next, err := g.Schedule.next(g.present, g.Names, time.Now())
	if err != nil {
		return nil, err
	}
	g.present = next
	return next.pair(), nil
}

// Every implements Source.
func (g *Generated) Every() time.Duration { return g.Schedule.Check }
