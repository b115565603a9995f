package ocitest

import "time"

// noTime is the time of content without a time.
var noTime time.Time
