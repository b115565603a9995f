package settings

import (
	"encoding/json"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/stores"
)

// field is one setting.
type field struct {
	class Class // default (empty): Guest
	bare  bool  // a text, which needs no quotes on a command line
	set   func(s *Settings, value json.RawMessage) error
	get   func(s *Settings) any // nil: the setting has no JSON form

	// bound limits a value from a guest. If it changes the value, it returns the allowed
	// range. Nil: any value is allowed.
	bound func(s *Settings) string
}

// of returns the field with another class.
func (f field) of(class Class) field {
	f.class = class
	return f
}

// fields are the settings by Kopf's dotted names.
var fields = map[string]field{
	"process.ultimate_exiting_timeout": duration(func(s *Settings) *time.Duration { return &s.Process.UltimateExitingTimeout }),

	"queueing.worker_limit": limit(func(s *Settings) *int { return &s.Queueing.WorkerLimit }),
	"queueing.idle_timeout": duration(func(s *Settings) *time.Duration { return &s.Queueing.IdleTimeout }),
	"queueing.exit_timeout": duration(func(s *Settings) *time.Duration { return &s.Queueing.ExitTimeout }),
	"queueing.error_delays": pauses(func(s *Settings) *backoffs.Backoffs { return &s.Queueing.ErrorDelays }),

	"watching.server_timeout":     duration(func(s *Settings) *time.Duration { return &s.Watching.ServerTimeout }),
	"watching.client_timeout":     duration(func(s *Settings) *time.Duration { return &s.Watching.ClientTimeout }),
	"watching.connect_timeout":    duration(func(s *Settings) *time.Duration { return &s.Watching.ConnectTimeout }),
	"watching.reconnect_backoff":  atLeast(guestReconnect, func(s *Settings) *time.Duration { return &s.Watching.ReconnectBackoff }),
	"watching.inactivity_timeout": duration(func(s *Settings) *time.Duration { return &s.Watching.InactivityTimeout }),
	"watching.chunk_size":         limit(func(s *Settings) *int { return &s.Watching.ChunkSize }),
	"watching.initial_streaming":  flag(func(s *Settings) *bool { return &s.Watching.InitialStreaming }),
	"watching.label_selectors":    filters(func(s *Settings) *Filters { return &s.Watching.LabelSelectors }),
	"watching.field_selectors":    filters(func(s *Settings) *Filters { return &s.Watching.FieldSelectors }),
	"watching.shard_selectors":    filters(func(s *Settings) *Filters { return &s.Watching.ShardSelectors }),

	"networking.request_timeout":     duration(func(s *Settings) *time.Duration { return &s.Networking.RequestTimeout }),
	"networking.connect_timeout":     duration(func(s *Settings) *time.Duration { return &s.Networking.ConnectTimeout }),
	"networking.error_backoffs":      requestPauses(func(s *Settings) *backoffs.Backoffs { return &s.Networking.ErrorBackoffs }),
	"networking.enforce_retry_after": flag(func(s *Settings) *bool { return &s.Networking.EnforceRetryAfter }),
	"networking.trust_env":           flag(func(s *Settings) *bool { return &s.Networking.TrustEnv }).of(Grant),

	"persistence.finalizer":           qualifiedName(func(s *Settings) *string { return &s.Persistence.Finalizer }),
	"persistence.progress_storage":    storage(stores.NewProgress, func(s *Settings) *stores.ProgressStorage { return &s.Persistence.Progress }),
	"persistence.diffbase_storage":    storage(stores.NewDiffBase, func(s *Settings) *stores.DiffBaseStorage { return &s.Persistence.DiffBase }),
	"persistence.consistency_timeout": duration(func(s *Settings) *time.Duration { return &s.Persistence.ConsistencyTimeout }),

	"execution.default_backoff": duration(func(s *Settings) *time.Duration { return &s.Execution.DefaultBackoff }),
	"execution.max_workers":     limit(func(s *Settings) *int { return &s.Execution.MaxWorkers }),
	"execution.executor":        absent("handlers run in instances of their module, not in threads or processes").of(Host),

	"background.cancellation_polling":          duration(func(s *Settings) *time.Duration { return &s.Background.CancellationPolling }),
	"background.instant_exit_timeout":          optional(func(s *Settings) **time.Duration { return &s.Background.InstantExitTimeout }),
	"background.instant_exit_zero_time_cycles": limit(func(s *Settings) *int { return &s.Background.InstantExitCycles }),

	"posting.enabled":             flag(func(s *Settings) *bool { return &s.Posting.Enabled }),
	"posting.loggers":             flag(func(s *Settings) *bool { return &s.Posting.Loggers }),
	"posting.level":               limit(func(s *Settings) *int { return &s.Posting.Level }),
	"posting.default_backoffs":    requestPauses(func(s *Settings) *backoffs.Backoffs { return &s.Posting.DefaultBackoffs }),
	"posting.logging_backoffs":    requestPauses(func(s *Settings) *backoffs.Backoffs { return &s.Posting.LoggingBackoffs }),
	"posting.worker_limit":        limit(func(s *Settings) *int { return &s.Posting.WorkerLimit }),
	"posting.idle_timeout":        duration(func(s *Settings) *time.Duration { return &s.Posting.IdleTimeout }),
	"posting.reporting_component": text(func(s *Settings) *string { return &s.Posting.ReportingComponent }),
	"posting.reporting_instance":  text(func(s *Settings) *string { return &s.Posting.ReportingInstance }),
	"posting.event_name_prefix":   text(func(s *Settings) *string { return &s.Posting.EventNamePrefix }),

	"peering.name":        objectName(func(s *Settings) *string { return &s.Peering.Name }),
	"peering.priority":    number(func(s *Settings) *int { return &s.Peering.Priority }),
	"peering.lifetime":    duration(func(s *Settings) *time.Duration { return &s.Peering.Lifetime }),
	"peering.stealth":     flag(func(s *Settings) *bool { return &s.Peering.Stealth }),
	"peering.mandatory":   flag(func(s *Settings) *bool { return &s.Peering.Mandatory }),
	"peering.standalone":  flag(func(s *Settings) *bool { return &s.Peering.Standalone }),
	"peering.clusterwide": optionalFlag(func(s *Settings) **bool { return &s.Peering.Clusterwide }),

	"admission.managed": field{set: managed, get: func(s *Settings) any { return orNull(s.Admission.Managed) }}.of(Grant),
	"admission.server":  field{set: server, get: func(s *Settings) any { return s.Admission.Server }}.of(Grant),

	"scanning.disabled": flag(func(s *Settings) *bool { return &s.Scanning.Disabled }),
}
