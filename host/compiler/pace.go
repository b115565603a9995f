package compiler

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kopf-wasm/kopf/internal/atomicfile"
)

// Pace estimates how long compilations take on this machine, from earlier ones. The engine does not
// report how far it is. The zero Pace knows of no earlier ones.
//
// The file is a hint: whatever it has, an estimate is between two bounds.
type Pace struct{ file string }

// paceFile is the name of the file in a cache. It has the bytes of prepared modules per second, in
// decimal digits.
const paceFile = "pace"

// Bytes of prepared modules per second.
const (
	defaultPace = 4_000_000 // two processors of a server; the guests measured were 18 % apart: in Go, C, and Rust
	minPace     = 50_000
	maxPace     = 100_000_000
)

// minLesson is the size of a prepared module from which on a compilation says something about others:
// what is shorter is mostly the start of the process.
const minLesson = 1 << 20

// maxDigits bounds the file.
const maxDigits = 16

// PaceIn is the pace that is kept in a cache directory.
func PaceIn(dir string) Pace { return Pace{filepath.Join(dir, paceFile)} }

// Estimate says how long the compilation of a prepared module takes.
func (p Pace) Estimate(size int) time.Duration {
	pace, ok := p.known()
	if !ok {
		pace = defaultPace
	}
	return time.Duration(float64(size) / float64(pace) * float64(time.Second))
}

// Learn takes into account how long a compilation took, the last one as much as all before it. An
// error of the file system has no consequence.
func (p Pace) Learn(size int, took time.Duration) {
	if p.file == "" || size < minLesson || took <= 0 {
		return
	}
	pace := bounded(float64(size) / took.Seconds())
	if before, ok := p.known(); ok {
		pace = (pace + before) / 2
	}
	_ = atomicfile.Replace(p.file, 0o600, strconv.AppendInt(nil, pace, 10))
}

// known is the pace of earlier compilations, if there is one.
func (p Pace) known() (pace int64, ok bool) {
	if info, err := os.Lstat(p.file); err != nil || !info.Mode().IsRegular() || info.Size() > maxDigits {
		return 0, false
	}
	text, err := os.ReadFile(p.file)
	if err != nil {
		return 0, false
	}
	pace, err = strconv.ParseInt(string(text), 10, 64)
	return bounded(float64(pace)), err == nil
}

func bounded(pace float64) int64 { return int64(min(max(pace, minPace), maxPace)) }
