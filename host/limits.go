package host

import (
	"io"
	"runtime"
	"time"

	"github.com/kopf-wasm/kopf/host/linear"
	"github.com/kopf-wasm/kopf/internal/accounts"
)

// Options say how a module is run. The zero value works: each limit has a
// default that protects the host.
type Options struct {
	// CacheDir keeps compiled code between runs. It holds native code, so it must
	// belong to the user of the process and be writable by nobody else; it is made
	// with mode 0700. Empty: kopf/wasm in the user's cache folder. "off": no cache.
	CacheDir string

	// MaxInstances bounds the instances that live at the same time, and so the
	// invocations that are under way, waiting ones included. Whoever wants one more
	// waits for a free one. Default: 256.
	MaxInstances int

	// MaxDaemons bounds the same for daemons, which live as long as their objects.
	// Default: 10,000.
	MaxDaemons int

	// MaxReviews bounds the same for handlers that answer the API server: they have
	// instances of their own, so that they never wait for handlers which wait for
	// the API server. Default: 64.
	MaxReviews int

	// SharedTasks is how many daemons live on one instance, if the guest says that
	// they can. Default: 1,000.
	SharedTasks int

	// MaxIdle bounds the instances that are kept without a task. Default: the number
	// of processors, at most 8.
	MaxIdle int

	// IdleTimeout is how long they are kept. Default: 10 seconds.
	IdleTimeout time.Duration

	// MaxMemory bounds the linear memory of one instance, in bytes; growing beyond
	// it fails inside the guest. Default: 256 MiB; at most 2 GiB.
	MaxMemory int

	// RetireMemory and RetireCalls retire an instance: it gets no new task when its
	// memory has grown beyond so many bytes, or after so many invocations; memory of
	// WebAssembly never shrinks. Defaults: 64 MiB and 10,000.
	RetireMemory int
	RetireCalls  int

	// ComputeLimit bounds the time that one call computes; sleeping does not count.
	// Default: 10 seconds.
	ComputeLimit time.Duration

	// StopGrace is how long a call may go on to compute after its context is done.
	// Sleeps end at once. Default: 200 milliseconds.
	StopGrace time.Duration

	// RegisterTimeout bounds initialisation and registration of an instance, sleep
	// included. Default: 10 seconds.
	RegisterTimeout time.Duration

	// NoClones makes each instance initialise and register itself, instead of
	// copying the state that the first one had after registration. Copies share what
	// was drawn at random before, such as seeds of hash tables. Without support of the
	// system, or for modules whose state is more than memory and numbers, there are no clones anyway.
	NoClones bool

	// CompileTime and CompileMemory bound what compiling takes: computing time of all
	// processors, and bytes. They only hold in programs that call compiler.Main; in
	// others nothing but an estimate does. Defaults: a minute and 1 GiB.
	CompileTime   time.Duration
	CompileMemory int

	// MessageLimit bounds one message from the guest, in bytes. Default: 8 MiB.
	MessageLimit int

	// PluginVariables bounds what one instance of a plugin of Extism keeps in its
	// variables, in bytes. Default: 1 MiB.
	PluginVariables int

	// PluginResponse bounds the body of a response to such a plugin, in bytes, beside
	// the limit for requests. Default: 4 MiB.
	PluginResponse int

	// LogLimit bounds what all instances of the module together write to the log and to their
	// standard streams, in bytes a second and 16 more for each line. The lines of one second may come at
	// once. Lines above the limit are dropped, counted (Usage.Dropped) and reported (Dropped). In an operator
	// of package operator, it bounds all modules together. Default: 1 MiB.
	LogLimit int

	// Output is the bucket that the module shares with others, and LogLimit is not looked at. Nil: the module
	// has one of its own, of LogLimit.
	Output *OutputBucket

	// Dropped is called with the number of lines that were dropped since its last call, at most
	// once a second, from any goroutine. Nil: Stderr gets a line about it.
	Dropped func(lines int64)

	// Held bounds what an operator holds in the memory of the host for its handlers. The
	// host itself does not look at it: package operator does.
	Held HeldLimits

	// WantsHosts are servers that the module wants to reach, besides those that it
	// declares itself: from its manifest.
	WantsHosts []string

	// HostName is what the guest is told about the host: name and version.
	// Default: "kopf".
	HostName string

	// Config is given to registration and is read by the host function config.
	Config map[string]string

	// Secrets are read by the host function config too, but only by invocations:
	// registration, and so anything that instances have in common, never sees them.
	Secrets map[string]string

	newImage func(contents []byte) (*linear.Image, error) // for tests; nil: linear.NewImage

	// Stdout and Stderr get the standard streams of the guest, line by line, each
	// line in one write, also from several goroutines at once. Control characters and what is no UTF-8 are
	// escaped as in JSON. Default: io.Discard.
	Stdout, Stderr io.Writer
}

// HeldLimits bound what the host keeps in memory on behalf of the handlers of one operator.
type HeldLimits = accounts.Limits

const defaultLogLimit = 1 << 20

// CacheOff as Options.CacheDir compiles anew each time.
const CacheOff = "off"

const wasmPage = 64 << 10

// withDefaults fills what is zero.
func (o Options) withDefaults() Options {
	setDefault(&o.MaxInstances, 256)
	setDefault(&o.MaxDaemons, 10_000)
	setDefault(&o.MaxReviews, 64)
	setDefault(&o.SharedTasks, 1_000)
	setDefault(&o.MaxIdle, min(runtime.GOMAXPROCS(0), 8))
	setDefault(&o.IdleTimeout, 10*time.Second)
	setDefault(&o.MaxMemory, 256<<20)
	o.MaxMemory = min(max(o.MaxMemory, wasmPage), 2<<30)
	setDefault(&o.RetireMemory, 64<<20)
	setDefault(&o.RetireCalls, 10_000)
	setDefault(&o.ComputeLimit, 10*time.Second)
	setDefault(&o.StopGrace, 200*time.Millisecond)
	setDefault(&o.RegisterTimeout, 10*time.Second)
	setDefault(&o.CompileTime, time.Minute)
	setDefault(&o.CompileMemory, 1<<30)
	setDefault(&o.MessageLimit, 8<<20)
	setDefault(&o.PluginVariables, 1<<20)
	setDefault(&o.PluginResponse, 4<<20)
	setDefault(&o.LogLimit, defaultLogLimit)
	setDefault(&o.HostName, "kopf")
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
