//go:build !unix

package processors

import "time"

func computed() (time.Duration, bool) { return 0, false }
