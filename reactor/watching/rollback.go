package watching

import (
	"context"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
)

// SameServer returns the current version of the server's data. It also returns ErrExpired if
// that data is older than a version that the server returned before: the server was restored
// from a backup, or replaced by a new one. Such a server accepts a watch from the future
// version, and sends no events until it has reached that version.
//
// SameServer asks the server after the watch has been opened: if the server is replaced
// later, that watch ends.
func (s *Stream) SameServer(ctx context.Context, options Options, version string) (now string, err error) {
	query := options.selection()
	query.Set("limit", "1") // the version of the storage, not of a cache
	meta, err := s.read(ctx, options.InactivityTimeout, query, func(Event) {})
	if err != nil {
		return "", err
	}
	if !IsLater(version, meta.ResourceVersion) {
		return meta.ResourceVersion, nil
	}
	s.Log(abi.LevelWarning, fmt.Sprintf("The server has older data of %s than before: the version %s after %s; listing it again.", s.Path, meta.ResourceVersion, version))
	return meta.ResourceVersion, ErrExpired
}
