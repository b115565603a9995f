package host

import (
	"fmt"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/wasi"
)

// process is a call as the functions of WASI use it.
type process call

// Memory implements wasi.Process.
func (p *process) Memory() api.Memory { return p.in.mod.Memory() }

// Random implements wasi.Process.
func (p *process) Random(buf []byte) { (*call)(p).Random(buf) }

// Clock implements wasi.Process.
func (p *process) Clock() *wasi.Clock { return &p.in.clock }

// Sleep implements wasi.Process. It ends early when the context is done or the task is
// cancelled. The guest then has to continue, and has the grace to end. Its runtime would
// sleep again before the time is over, so Sleep moves the monotonic clock forward. The
// instance is not used for other tasks afterwards.
func (p *process) Sleep(wait time.Duration) {
	slept, early := (*call)(p).pause(wait)
	p.warnOfSleep(slept)
	if rest := wait - slept; early && rest > 0 {
		p.in.clock.Skip(rest)
		p.in.tainted = true
	}
	p.check()
}

// warnOfSleep warns once per module that a sleeping guest blocks its instance. Guests should
// wait by a step of the ABI.
func (p *process) warnOfSleep(slept time.Duration) {
	if p.owner != nil && slept >= longSleep && p.in.m.warned.CompareAndSwap(false, true) {
		p.owner.functions.Env.Log(abi.LevelWarning, fmt.Sprintf("the guest slept for %v inside of %s and blocked its instance: wait by asyncio.sleep in Python, kopf.sleep in JavaScript, or the sleep of the argument in Go and Rust", slept.Round(time.Millisecond), p.export))
	}
}

const longSleep = time.Second

// Write implements wasi.Process.
func (p *process) Write(stream uint32, data []byte) {
	if stream == 2 {
		p.hear(data)
		p.stack.words = p.size()
	}
	p.in.streams[stream-1].Write(data)
}

// Exit implements wasi.Process.
func (p *process) Exit(code uint32) { guests.Stop(fmt.Errorf("%w with code %d", ErrExit, code)) }
