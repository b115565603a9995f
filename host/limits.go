package host

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/spelling"
)

// limit is a limit that can be set by name. Exactly one of its functions is set.
type limit struct {
	name     string
	count    func(*Options) *int
	size     func(*Options) *int // in bytes
	most     int                 // of a size; 0: all sizes are possible
	duration func(*Options) *time.Duration
}

// limits lists the limits in the order of Options.
var limits = []limit{
	{name: "MaxInstances", count: func(o *Options) *int { return &o.MaxInstances }},
	{name: "MaxDaemons", count: func(o *Options) *int { return &o.MaxDaemons }},
	{name: "MaxReviews", count: func(o *Options) *int { return &o.MaxReviews }},
	{name: "SharedTasks", count: func(o *Options) *int { return &o.SharedTasks }},
	{name: "MaxIdle", count: func(o *Options) *int { return &o.MaxIdle }},
	{name: "IdleTimeout", duration: func(o *Options) *time.Duration { return &o.IdleTimeout }},
	{name: "MaxMemory", size: func(o *Options) *int { return &o.MaxMemory }, most: mostMemory},
	{name: "InstanceMemory", size: func(o *Options) *int { return &o.InstanceMemory }},
	{name: "RetireMemory", size: func(o *Options) *int { return &o.RetireMemory }},
	{name: "RetireCalls", count: func(o *Options) *int { return &o.RetireCalls }},
	{name: "ComputeLimit", duration: func(o *Options) *time.Duration { return &o.ComputeLimit }},
	{name: "ComputeWeight", count: func(o *Options) *int { return &o.ComputeWeight }},
	{name: "ComputeRate", duration: func(o *Options) *time.Duration { return &o.ComputeRate }},
	{name: "StopGrace", duration: func(o *Options) *time.Duration { return &o.StopGrace }},
	{name: "RegisterTimeout", duration: func(o *Options) *time.Duration { return &o.RegisterTimeout }},
	{name: "CompileTime", duration: func(o *Options) *time.Duration { return &o.CompileTime }},
	{name: "CompileMemory", size: func(o *Options) *int { return &o.CompileMemory }},
	{name: "MaxFiles", size: func(o *Options) *int { return &o.MaxFiles }},
	{name: "MessageLimit", size: func(o *Options) *int { return &o.MessageLimit }},
	{name: "PluginVariables", size: func(o *Options) *int { return &o.PluginVariables }},
	{name: "PluginResponse", size: func(o *Options) *int { return &o.PluginResponse }},
	{name: "LogLimit", size: func(o *Options) *int { return &o.LogLimit }},
	{name: "MemoLimit", size: func(o *Options) *int { return &o.Held.MemoLimit }},
	{name: "MemoMemory", size: func(o *Options) *int { return &o.Held.MemoMemory }},
	{name: "IndexMemory", size: func(o *Options) *int { return &o.Held.IndexMemory }},
	{name: "PendingMemory", size: func(o *Options) *int { return &o.Held.PendingMemory }},
	{name: "BodyMemory", size: func(o *Options) *int { return &o.Held.BodyMemory }},
	{name: "MaxChildren", count: func(o *Options) *int { return &o.Held.MaxChildren }},
	{name: "ChildMemory", size: func(o *Options) *int { return &o.Held.ChildMemory }},
	{name: "PatchMemory", size: func(o *Options) *int { return &o.Held.PatchMemory }},
	{name: "AnswerMemory", size: func(o *Options) *int { return &o.Held.AnswerMemory }},
	{name: "ReviewMemory", size: func(o *Options) *int { return &o.Held.ReviewMemory }},
}

// LimitNames returns the names that SetLimit accepts: fields of Options and of Options.Held.
func LimitNames() []string {
	names := make([]string, len(limits))
	for i, l := range limits {
		names[i] = l.name
	}
	return names
}

// SetLimit sets a limit by name. Numbers are decimal ("64"). Sizes are bytes, or end with
// Ki, Mi or Gi ("64Mi"). Durations have a unit ("200ms", "1m30s"). Values must be above
// zero.
func (o *Options) SetLimit(name, value string) error {
	at := slices.IndexFunc(limits, func(l limit) bool { return l.name == name })
	if at < 0 {
		return fmt.Errorf("unknown limit %s%s", name, spelling.Meant(name, LimitNames()))
	}
	if err := limits[at].set(o, value); err != nil {
		return fmt.Errorf("limit %s: %w", name, err)
	}
	return nil
}

func (l limit) set(o *Options, value string) error {
	if l.duration != nil {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is not a duration above zero, like 200ms or 1m30s", value)
		}
		*l.duration(o) = d
		return nil
	}
	if l.size != nil {
		n, err := ParseSize(value)
		if err != nil {
			return err
		}
		if l.most > 0 && n > l.most {
			return fmt.Errorf("%q is above %s, which is the most that an instance can have", value, SizeText(l.most))
		}
		*l.size(o) = n
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n <= 0 {
		return fmt.Errorf("%q is not a whole number above zero", value)
	}
	*l.count(o) = n
	return nil
}

// ParseSize reads a size as SetLimit does: "64", "64Ki", "64Mi" or "64Gi", above zero.
func ParseSize(value string) (int, error) {
	number, shift := value, 0
	for i, suffix := range []string{"Ki", "Mi", "Gi"} {
		if rest, ok := strings.CutSuffix(value, suffix); ok {
			number, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n <= 0 || n > math.MaxInt>>shift {
		return 0, fmt.Errorf("%q is not a size above zero, like 500000, 64Mi or 1Gi", value)
	}
	return n << shift, nil
}

// SizeText is a number of bytes in a form that ParseSize reads, with the largest unit that fits.
func SizeText(n int) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{30, "Gi"}, {20, "Mi"}, {10, "Ki"}} {
		if n > 0 && n&(1<<unit.shift-1) == 0 {
			return strconv.Itoa(n>>unit.shift) + unit.name
		}
	}
	return strconv.Itoa(n)
}
