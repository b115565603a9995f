package host

import (
	"io"
	"math"
	"time"

	"github.com/kopf-wasm/kopf/host/cache"
	"github.com/kopf-wasm/kopf/host/cores"
	"github.com/kopf-wasm/kopf/host/linear"
	"github.com/kopf-wasm/kopf/host/output"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/processors"
)

// DefaultMaxFiles is the default of Options.MaxFiles: 64 MiB.
const DefaultMaxFiles = 64 << 20

// mostMemory is the most memory that an instance can have.
const mostMemory = 2 << 30

// Options configure how the host runs a module. The zero value is valid: each limit has a
// default that protects the host.
type Options struct {
	// CacheDir is the directory of compiled code. It holds native code, so it must belong to
	// the user of the process, and no other user may write to it. The host creates it with
	// mode 0700. Empty: kopf/wasm in the user's cache directory; nothing is kept if that cannot
	// be written. CacheOff disables the cache.
	CacheDir string

	// MaxInstances bounds the instances that exist at once, and so the running invocations,
	// including those that wait. A further invocation waits for a free instance.
	// Default: 256.
	MaxInstances int

	// MaxDaemons is the corresponding bound for daemons, which run as long as their objects
	// exist. Default: 10,000.
	MaxDaemons int

	// MaxReviews is the corresponding bound for handlers that answer the API server. They
	// have separate instances, because other handlers may hold an instance while they wait
	// for the API server. Default: 64.
	MaxReviews int

	// SharedTasks is the number of daemons on one instance, if the guest supports shared
	// instances. Default: 1,000.
	SharedTasks int

	// MaxIdle bounds the instances that are kept without a task. Default: the number of
	// processors, at most 8.
	MaxIdle int

	// IdleTimeout is how long an instance is kept without a task. Default: 10 seconds.
	IdleTimeout time.Duration

	// MaxMemory bounds the linear memory of one instance, in bytes. Growth beyond it fails
	// inside the guest. Default: 256 MiB; at most 2 GiB.
	MaxMemory int

	// InstanceMemory bounds the linear memories of all instances together, in bytes. Pages that
	// instances share count for each of them. What Extism plugins have in the memory of the host
	// counts, too, and so does what the engine keeps for an instance beyond 64 KiB, such as tables.
	// Beyond the limit, growth fails inside the guest, and the call that needs a further instance
	// fails with abi.ErrNoRoom. Default: no limit.
	InstanceMemory int

	// Memories is a bound that the module shares with other modules. It replaces InstanceMemory.
	// Nil: a bound of its own.
	Memories *MemoryPool

	// RetireMemory and RetireCalls retire an instance, because WebAssembly memory never
	// shrinks. An instance gets no new task when its memory exceeds RetireMemory bytes, or
	// after RetireCalls invocations. Defaults: 64 MiB and 10,000.
	RetireMemory int
	RetireCalls  int

	// ComputeLimit bounds the computing time of one call, without sleeps. Default: 10
	// seconds.
	ComputeLimit time.Duration

	// ComputeWeight is the part of the processors that the modules of an operator have together
	// while those of other operators want them, too, in relation to the weights of these.
	// Default: 100.
	ComputeWeight int

	// ComputeRate bounds the computing time of all modules of an operator together: so much for
	// each minute, and at once. Beyond it, calls wait. Default: no limit.
	ComputeRate time.Duration

	// Share is a part of the processors that the module has together with other modules. It
	// replaces ComputeWeight and ComputeRate. Nil: a share of its own with these.
	Share *Share

	// StopGrace is how long a call may continue to compute after its context has ended.
	// Sleeps end at once. Default: 200 milliseconds.
	StopGrace time.Duration

	// RegisterTimeout bounds the initialisation and registration of an instance, including
	// sleeps. Default: 10 seconds.
	RegisterTimeout time.Duration

	// NoClones makes each instance initialise and register itself, instead of copying the
	// state of the first instance after its registration. Copies share random values that
	// were drawn before, such as seeds of hash tables. Clones also need support by the
	// system, and a module whose state is only memory and numbers.
	NoClones bool

	// CompileTime and CompileMemory bound the compilation of a module: computing time of all
	// processors, and bytes. They apply only in programs that call compiler.Main. Other
	// programs rely on an estimate. Defaults: a minute and 1 GiB.
	CompileTime   time.Duration
	CompileMemory int

	// MaxFiles bounds the files that are embedded in a module, such as the packages of a
	// script, in bytes. Default: 64 MiB.
	MaxFiles int

	// MessageLimit bounds one message from the guest, in bytes. Default: 8 MiB.
	MessageLimit int

	// PluginVariables bounds the variables of one instance of an Extism plugin, in bytes.
	// Default: 1 MiB. Negative: the plugin cannot set variables.
	PluginVariables int

	// PluginResponse bounds the body of a response to an Extism plugin, in bytes, in
	// addition to the limit for requests. Default: 4 MiB. Negative: only empty bodies.
	PluginResponse int

	// LogLimit bounds the log lines and the standard streams of all instances of the module
	// together, in bytes per second. Each line costs 16 bytes more. The budget of a second
	// may be used at once. Lines above the limit are dropped, counted (Usage.Dropped) and
	// reported (Dropped). Errors count, because the host logs them: above the limit, the first KiB of the message
	// and of the stack remains. In package operator, the limit applies to all modules of an
	// operator together. Default: 1 MiB.
	LogLimit int

	// Output is a bucket that the module shares with other modules. It replaces LogLimit.
	// Nil: a private bucket of LogLimit.
	Output *OutputBucket

	// Dropped is called with the number of lines that were dropped since its last call, at
	// most once per second, from any goroutine. Nil: the host writes a line to Stderr.
	Dropped func(lines int64)

	// Compiling is called before Load compiles a module that is not in the cache, with the
	// size of what is compiled, in bytes, and an estimate of the time: see compiler.Pace. Data and names
	// of the module do not count. The function that it returns is called when the compilation has ended,
	// with or without success. Nil: nothing is called.
	Compiling func(size int, about time.Duration) (ended func())

	// FullStacks shows all frames in the stacks of errors. False: neighbouring frames of SDKs and
	// runtimes are one line, which counts them.
	FullStacks bool

	// Held bounds the memory that an operator uses in the host for its handlers. Package
	// operator enforces it, not this package.
	Held HeldLimits

	// WantsHosts are servers that the module's manifest asks for, in addition to those that
	// the module declares itself.
	WantsHosts []string

	// HostName is the name and version of the host that the guest sees. Default: "kopf".
	HostName string

	// Config is passed to the registration, and the host function config reads it.
	Config map[string]string

	// Secrets are read by the host function config, but only in invocations. The
	// registration, and therefore the common state of instances, never sees them.
	Secrets map[string]string

	// Clock measures computing time. Nil: time.Now. Programs with a simulated clock give the
	// real one.
	Clock func() time.Time

	// Surrounded lets contexts change what the guest sees of the world: see WithSurroundings.
	Surrounded bool

	newImage func(contents []byte) (*linear.Image, error) // for tests; nil: linear.NewImage

	// Log receives the lines of the guest's log that belong to no task: those of its registration,
	// and those with the task 0. It may be called from several goroutines at once. Nil: they
	// are dropped.
	Log func(level int, text string)

	// Stdout and Stderr receive the standard streams of the guest, one line per write,
	// possibly from several goroutines at once. Control characters and invalid UTF-8 are
	// escaped as in JSON. Default: io.Discard.
	Stdout, Stderr io.Writer
}

// Share is the part of the processors that all modules of an operator have together.
type Share = cores.Share

// NewShare makes a share of the processors. The weight and the rate are as
// Options.ComputeWeight and Options.ComputeRate; 0: the default.
func NewShare(weight int, rate time.Duration) *Share { return cores.NewShare(weight, rate) }

// OutputBucket bounds the output of all modules of an operator together.
type OutputBucket = output.Bucket

// NewOutputBucket makes a bucket with the limit of Options.LogLimit; 0: its default.
func NewOutputBucket(logLimit int) *OutputBucket { return output.NewBucket(logLimit) }

// MemoryPool bounds the memories of the instances of several modules together.
type MemoryPool = linear.Pool

// NewMemoryPool makes a pool with the limit of Options.InstanceMemory; 0: no limit.
func NewMemoryPool(instanceMemory int) *MemoryPool {
	setDefault(&instanceMemory, math.MaxInt)
	return linear.NewPool(int64(instanceMemory))
}

// HeldLimits bound the memory of the host that the handlers of one operator use.
type HeldLimits = accounts.Limits

// CacheOff disables the cache if it is Options.CacheDir: each load compiles the module.
const CacheOff = cache.Off

const wasmPage = 64 << 10

// withDefaults replaces zero values by the defaults.
func (o Options) withDefaults() Options {
	setDefault(&o.MaxInstances, 256)
	setDefault(&o.MaxDaemons, 10_000)
	setDefault(&o.MaxReviews, 64)
	setDefault(&o.SharedTasks, 1_000)
	setDefault(&o.MaxIdle, min(processors.Number(), 8))
	setDefault(&o.IdleTimeout, 10*time.Second)
	setDefault(&o.MaxMemory, 256<<20)
	o.MaxMemory = min(max(o.MaxMemory, wasmPage), mostMemory)
	setDefault(&o.InstanceMemory, math.MaxInt)
	if o.Memories == nil {
		o.Memories = NewMemoryPool(o.InstanceMemory)
	}
	setDefault(&o.RetireMemory, 64<<20)
	setDefault(&o.RetireCalls, 10_000)
	setDefault(&o.ComputeLimit, 10*time.Second)
	setDefault(&o.ComputeWeight, cores.DefaultWeight)
	setDefault(&o.ComputeRate, cores.NoRate)
	if o.Share == nil {
		o.Share = cores.NewShare(o.ComputeWeight, o.ComputeRate)
	}
	setDefault(&o.StopGrace, 200*time.Millisecond)
	setDefault(&o.RegisterTimeout, 10*time.Second)
	setDefault(&o.CompileTime, time.Minute)
	setDefault(&o.CompileMemory, 1<<30)
	setDefault(&o.MaxFiles, DefaultMaxFiles)
	setDefault(&o.MessageLimit, 8<<20)
	setDefault(&o.PluginVariables, 1<<20)
	setDefault(&o.PluginResponse, 4<<20)
	setDefault(&o.LogLimit, output.DefaultRate)
	setDefault(&o.HostName, "kopf")
	if o.Compiling == nil {
		o.Compiling = func(int, time.Duration) func() { return func() {} }
	}
	if o.newImage == nil {
		o.newImage = linear.NewImage
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
