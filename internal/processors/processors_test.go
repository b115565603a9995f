package processors

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// load is a process with a part of its time in which it computes, and a queue for processors.
type load struct {
	share   atomic.Int64 // in hundredths of a processor
	waiting atomic.Bool
	looks   atomic.Int64
	numbers []string // in their order
}

func (l *load) adapter() *adapter {
	var computed time.Duration
	last := time.Now()
	return &adapter{
		waiting: func() bool { l.looks.Add(1); return l.waiting.Load() },
		computed: func() time.Duration {
			now := time.Now()
			computed += now.Sub(last) * time.Duration(l.share.Load()) / 100
			last = now
			return computed
		},
		one: func() { l.numbers = append(l.numbers, "one") },
		all: func() { l.numbers = append(l.numbers, "all") },
	}
}

// The program has one processor until goroutines wait for it again and again, all of them while it computes for more than half of
// one, and all of them in the end.
func TestAdapt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := &load{}
		ended := make(chan struct{})
		go func() { defer close(ended); l.adapter().run(ctx) }()
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(l.numbers, want) {
				t.Fatalf("%s: %v, want %v", when, l.numbers, want)
			}
		}
		expect("at first", "one")

		l.share.Store(30)
		time.Sleep(time.Second)
		expect("a few steps", "one")

		l.waiting.Store(true)
		time.Sleep(5 * look)
		l.waiting.Store(false)
		time.Sleep(time.Second)
		expect("a short queue", "one")

		for range 2 * crowdedLooks { // longer pauses than queues
			l.waiting.Store(true)
			time.Sleep(2 * look)
			l.waiting.Store(false)
			time.Sleep(4 * look)
		}
		expect("a queue now and then", "one")

		l.share.Store(100)
		for range crowdedLooks { // a queue most of the time
			l.waiting.Store(true)
			time.Sleep(4 * look)
			l.waiting.Store(false)
			time.Sleep(2 * look)
		}
		expect("a queue for most of the time", "one", "all")

		l.waiting.Store(false)
		time.Sleep(time.Minute)
		expect("much work", "one", "all")

		l.share.Store(10)
		time.Sleep(time.Second)
		expect("little work again", "one", "all", "one")

		cancel()
		<-ended
		expect("the end", "one", "all", "one", "all")
	})
}

// A process that rests is seldom looked at.
func TestRestingProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := &load{}
		go l.adapter().run(ctx) // ends with the context
		time.Sleep(time.Minute)
		if n := l.looks.Load(); n > int64(time.Minute/restLook)+1 {
			t.Errorf("%d looks in a minute", n)
		}
	})
}

// TestRuntime adapts this process: two goroutines that compute get two processors.
func TestRuntime(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	if number == 1 {
		Adapt(t.Context()) // returns
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); Adapt(ctx) }()
	until := func(what string, is func(n int) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !is(runtime.GOMAXPROCS(0)); {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d processors", what, runtime.GOMAXPROCS(0))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	until("at rest", func(n int) bool { return n == 1 })
	var stop atomic.Bool
	for range 2 {
		go func() { // ends with stop
			for !stop.Load() {
			}
		}()
	}
	until("much work", func(n int) bool { return n == number })
	stop.Store(true)
	until("at rest again", func(n int) bool { return n == 1 })
	cancel()
	<-ended
	if n := runtime.GOMAXPROCS(0); n != number || Number() != number {
		t.Errorf("%d processors in the end", n)
	}
}
