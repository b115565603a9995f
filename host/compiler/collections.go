package compiler

import (
	"runtime"
	"strconv"
)

// A compiling process is short-lived: most modules are compiled before its heap has reached the
// size of the first garbage collection, an eighth of its limit of memory.
const (
	firstCollection = 8       // the part of the limit
	minHeap         = 4 << 20 // Go collects first when the heap has this size, in bytes, at 100 per cent
	laterPercent    = 400     // of garbage after the first collection
)

// environment returns the whole environment of the process. Go reads GOGC before it initialises
// packages, and package collector changes nothing then.
func (j Job) environment() []string {
	percent := max(laterPercent, j.Memory/firstCollection/(minHeap/100))
	return []string{"GOTRACEBACK=none", "GOGC=" + strconv.Itoa(percent)}
}

// afterFirstCollection calls a function soon after the next garbage collection, which finds an
// unreferenced object, whose cleanup makes the call.
func afterFirstCollection(do func()) {
	type nothing struct{ _ *nothing } // with a pointer, so that it is allocated alone
	runtime.AddCleanup(&nothing{}, func(do func()) { do() }, do)
}
