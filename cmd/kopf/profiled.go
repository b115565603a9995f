//go:build profiled

package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"time"
)

// init records a profile of the processor time for `make pgo`: of the time from the start of
// the process to the duration KOPF_PROFILE_TIME later, into the file
// KOPF_PROFILE.<process id>. A process that ends earlier leaves an empty file.
func init() {
	duration, err := time.ParseDuration(os.Getenv("KOPF_PROFILE_TIME"))
	if err != nil {
		return
	}
	file, err := os.Create(fmt.Sprintf("%s.%d", os.Getenv("KOPF_PROFILE"), os.Getpid()))
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		panic(err) // nothing else is wanted of this build
	}
	time.AfterFunc(duration, func() {
		pprof.StopCPUProfile()
		file.Close()
	})
}
