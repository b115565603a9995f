package ocitest

import "time"

// noTime is the time of content that has none.
var noTime time.Time
