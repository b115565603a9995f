//go:build !linux

package watchdog

import (
	"errors"
	"time"
)

const supported = false

type timer struct{}

func newTimer() (*timer, error) { return nil, errors.ErrUnsupported }

func (*timer) wind(time.Duration) error { return errors.ErrUnsupported }

func (*timer) stop() {}

func noCore() {}
