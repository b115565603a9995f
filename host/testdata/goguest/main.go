// Command goguest is a guest for the tests of package host, without an SDK. What
// a handler does is said by its param.
package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"time"
	"unsafe"
)

func main() {}

//go:wasmimport kopf log
func hostLog(task, level uint32, ptr unsafe.Pointer, size uint32)

//go:wasmimport kopf segment
func hostSegment(task, tag uint32, ptr unsafe.Pointer, size uint32) int64

//go:wasmimport kopf stopped
func hostStopped(task uint32) uint32

//go:wasmimport kopf config
func hostConfig(key unsafe.Pointer, keyLen uint32, ptr unsafe.Pointer, size uint32) int64

//go:wasmimport kopf random
func hostRandom(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport kopf event
func hostEvent(task uint32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport kopf memo_get
func hostMemoGet(task, scope uint32, key unsafe.Pointer, keyLen uint32, ptr unsafe.Pointer, size uint32) int64

//go:wasmimport kopf memo_set
func hostMemoSet(task, scope uint32, key unsafe.Pointer, keyLen uint32, ptr unsafe.Pointer, size uint32, version int64) int64

//go:wasmimport kopf index
func hostIndex(task, op uint32, name unsafe.Pointer, nameLen uint32, key unsafe.Pointer, keyLen uint32, ptr unsafe.Pointer, size uint32) int64

//go:wasmexport kopf_abi_v1
func marker() {}

var (
	buffers = map[uint32][]byte{}
	result  []byte
	states  = map[uint32]*state{}
	counter int
)

// state is a task that waits or lives on.
type state struct {
	sleeps     bool
	cancelled  bool
	transforms []func(map[string]any)
}

//go:wasmexport kopf_alloc
func alloc(size uint32) uint32 {
	b := make([]byte, size+1)
	p := uint32(uintptr(unsafe.Pointer(&b[0])))
	buffers[p] = b[:size]
	return p
}

func take(ptr uint32) []byte {
	b := buffers[ptr]
	delete(buffers, ptr)
	return b
}

func give(v any) uint64 {
	var err error
	if result, err = json.Marshal(v); err != nil {
		panic(err)
	}
	return raw(result)
}

func raw(b []byte) uint64 {
	result = b
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))<<32 | uint64(len(b))
}

type object = map[string]any

//go:wasmexport kopf_register
func register(ptr, _ uint32) uint64 {
	var request struct{ Config map[string]string }
	if err := json.Unmarshal(take(ptr), &request); err != nil {
		panic(err)
	}
	switch request.Config["register"] {
	case "panic":
		panic("registering: boom")
	case "spin":
		for {
			runtime.Gosched()
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "json":
		return raw([]byte(`{"handlers":`))
	case "random":
		var b [8]byte
		hostRandom(unsafe.Pointer(&b), 8)
		return give(object{"sdk": fmt.Sprint(b), "handlers": []object{}})
	case "document":
		return raw([]byte(request.Config["document"]))
	case "secret":
		return give(object{"sdk": config("secret"), "handlers": []object{}})
	}
	return give(object{
		"sdk": "test 1", "operator": object{"name": "demo"}, "shared_tasks": request.Config["shared"] != "",
		"handlers": []object{
			{"kind": "create", "id": "fn", "resource": object{"args": []any{"kopf.dev", "v1", "kopfexamples"}}, "when": object{"$": "FUNCTION"}},
		},
	})
}

type invocation struct {
	Handler int
	Parent  uint32
	ID      string
	Param   string
	Name    string
}

func segment(frame []byte, tag uint32) []byte {
	for len(frame) > 0 {
		t, n := binary.LittleEndian.Uint32(frame), binary.LittleEndian.Uint32(frame[4:])
		if t == tag {
			return frame[8 : 8+n]
		}
		frame = frame[8+n:]
	}
	return nil
}

//go:wasmexport kopf_start
func start(task, ptr, _ uint32) uint64 {
	frame := take(ptr)
	var inv invocation
	if err := json.Unmarshal(segment(frame, 1), &inv); err != nil {
		panic(err)
	}
	return run(task, inv, segment(frame, 2))
}

func done(result any) uint64 { return give(object{"step": "done", "result": result}) }

func run(task uint32, inv invocation, body []byte) uint64 {
	switch inv.Param {
	case "body":
		var b object
		if err := json.Unmarshal(body, &b); err != nil {
			panic(err)
		}
		return done(b["metadata"].(object)["name"])
	case "panic":
		panic("boom")
	case "error":
		panic(errors.New("an error value"))
	case "exit":
		os.Exit(7)
	case "deadlock":
		select {}
	case "spin":
		for {
			counter++
		}
	case "recurse":
		return done(recurse(1))
	case "eat":
		var kept [][]byte
		for {
			kept = append(kept, make([]byte, 1<<20))
			kept[len(kept)-1][0] = 1
		}
	case "sleep":
		start := time.Now()
		time.Sleep(1200 * time.Millisecond)
		return done(time.Since(start).Milliseconds())
	case "sleep long":
		start := time.Now()
		time.Sleep(time.Hour)
		return done(time.Since(start).Hours() >= 1)
	case "sleep forever":
		for {
			time.Sleep(time.Hour)
		}
	case "still":
		start := time.Now()
		for i := range 1000_000 {
			counter += i
		}
		return done(time.Since(start).Nanoseconds())
	case "count":
		counter++
		return done(counter)
	case "wait":
		states[task] = &state{}
		return give(object{"step": "wait", "seconds": 5})
	case "wait and sleep":
		states[task] = &state{sleeps: true}
		return give(object{"step": "wait"})
	case "wait forever":
		states[task] = &state{}
		return give(object{"step": "wait"})
	case "children":
		states[task] = &state{}
		return give(object{"step": "execute", "children": []object{{"kind": "sub", "id": "a"}, {"kind": "sub", "id": "b"}}})
	case "after":
		states[task] = &state{}
		return give(object{"step": "done", "children": []object{{"kind": "sub", "id": "a"}}})
	case "transform":
		states[task] = &state{transforms: []func(object){
			func(b object) { b["spec"].(object)["a"] = "new" },
			func(b object) { delete(b["spec"].(object), "b") },
		}}
		return give(object{"step": "done", "transforms": 2})
	case "child":
		return done(fmt.Sprintf("%s of %d at %d", inv.ID, inv.Parent, inv.Handler))
	case "broken":
		return raw([]byte(`{"step": "done"`))
	case "outside":
		return 0xffff_0000_0000_0010
	case "huge":
		return 0xffff_ffff
	case "print":
		fmt.Print("one\ntw")
		fmt.Print("o\n")
		fmt.Fprintln(os.Stderr, "three")
		return done(nil)
	case "print much":
		line := make([]byte, 1000)
		for i := range line {
			line[i] = 'x'
		}
		for range 3000 {
			fmt.Println(string(line))
		}
		return done(nil)
	case "rand":
		return done(rand.Int63())
	case "host random":
		var b [8]byte
		hostRandom(unsafe.Pointer(&b), 8)
		return done(fmt.Sprint(b))
	case "environment":
		_, err := os.ReadFile("/etc/passwd")
		return done(fmt.Sprint(os.Args, len(os.Environ()), err != nil))
	case "garbage":
		total := 0
		for i := range 100 {
			total += len(fmt.Sprint(make([]int, 500+i%7)))
		}
		return done(total)
	case "log apart":
		text(func(p unsafe.Pointer, n uint32) { hostLog(0, 30, p, n) }, "hello "+inv.Name)
		text(func(p unsafe.Pointer, n uint32) { hostLog(task+1000, 30, p, n) }, "of a task that is over")
	case "log":
		text(func(p unsafe.Pointer, n uint32) { hostLog(task, 20, p, n) }, "hello "+inv.Name)
		return done(nil)
	case "log outside":
		hostLog(task, 20, unsafe.Pointer(^uintptr(0)-8), 1<<10)
		return done(nil)
	case "questions":
		return done(questions(task))
	}
	return done("unknown: " + inv.Param)
}

//go:noinline
func recurse(n int) int { return recurse(n+1) + n }

func text(f func(unsafe.Pointer, uint32), s string) {
	b := []byte(s)
	f(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
}

func output(f func(unsafe.Pointer, uint32) int64) string {
	n := f(nil, 0)
	if n < 0 {
		return fmt.Sprint(n)
	}
	b := make([]byte, n+1)
	f(unsafe.Pointer(&b[0]), uint32(n))
	return string(b[:n])
}

func config(key string) string {
	return output(func(p unsafe.Pointer, n uint32) int64 {
		var r int64
		text(func(k unsafe.Pointer, kn uint32) { r = hostConfig(k, kn, p, n) }, key)
		return r
	})
}

// questions asks everything and reports the answers.
func questions(task uint32) object {
	out := object{
		"old":     output(func(p unsafe.Pointer, n uint32) int64 { return hostSegment(task, 3, p, n) }),
		"none":    output(func(p unsafe.Pointer, n uint32) int64 { return hostSegment(task, 99, p, n) }),
		"foreign": output(func(p unsafe.Pointer, n uint32) int64 { return hostSegment(task+1, 3, p, n) }),
		"stopped": hostStopped(task),
		"config":  config("key"),
		"secret":  config("secret"),
		"missing": config("missing"),
	}
	text(func(p unsafe.Pointer, n uint32) { out["event"] = hostEvent(task, p, n) }, `{"type":"Normal","reason":"R","message":"M"}`)
	text(func(p unsafe.Pointer, n uint32) { out["bad event"] = hostEvent(task, p, n) }, `{`)
	set := func(key, value string, version int64) (r int64) {
		text(func(k unsafe.Pointer, kn uint32) {
			text(func(v unsafe.Pointer, vn uint32) { r = hostMemoSet(task, 0, k, kn, v, vn, version) }, value)
		}, key)
		return r
	}
	out["set"] = set("k", `{"v":1}`, 0)
	out["conflict"] = set("k", `2`, 0)
	out["not json"] = set("k", `{`, -1)
	out["get"] = output(func(p unsafe.Pointer, n uint32) int64 {
		var r int64
		text(func(k unsafe.Pointer, kn uint32) { r = hostMemoGet(task, 0, k, kn, p, n) }, "k")
		return r
	})
	index := func(name string) string {
		return output(func(p unsafe.Pointer, n uint32) (r int64) {
			text(func(i unsafe.Pointer, in uint32) {
				text(func(k unsafe.Pointer, kn uint32) { r = hostIndex(task, 0, i, in, k, kn, p, n) }, `"key"`)
			}, name)
			return r
		})
	}
	out["index"], out["no index"] = index("i"), index("j")
	out["fault"] = hostRandom(unsafe.Pointer(^uintptr(0)-8), 1<<20)
	return out
}

//go:wasmexport kopf_resume
func resume(task, ptr, _ uint32) uint64 {
	var answer struct {
		Stopped   []string
		Cancelled bool
		Pending   bool
	}
	if err := json.Unmarshal(take(ptr), &answer); err != nil {
		panic(err)
	}
	s := states[task]
	delete(states, task)
	if s.sleeps {
		time.Sleep(time.Hour)
	}
	return done(object{"stopped": answer.Stopped, "pending": answer.Pending, "cancelled": s.cancelled || answer.Cancelled})
}

//go:wasmexport kopf_cancel
func cancel(task uint32) { states[task].cancelled = true }

//go:wasmexport kopf_release
func release(task uint32) { delete(states, task) }

//go:wasmexport kopf_ask
func ask(task, ptr, _ uint32) uint64 {
	var q struct {
		Name      string
		Questions []struct{ Handler int }
	}
	frame := take(ptr)
	if err := json.Unmarshal(segment(frame, 1), &q); err != nil {
		panic(err)
	}
	answers := []object{}
	for _, one := range q.Questions {
		switch one.Handler {
		case 0:
			answers = append(answers, object{"value": q.Name == "yes"})
		case 1:
			answers = append(answers, object{"error": object{"kind": "arbitrary", "message": "callback failed"}})
		}
	}
	return give(object{"answers": answers})
}

//go:wasmexport kopf_transform
func transform(task, ptr, _ uint32) uint64 {
	var body object
	if err := json.Unmarshal(take(ptr), &body); err != nil {
		panic(err)
	}
	if body["fail"] != nil {
		return give(object{"error": object{"kind": "permanent", "message": "no"}})
	}
	for _, f := range states[task].transforms {
		f(body)
	}
	return give(object{"body": body})
}
