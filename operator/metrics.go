package operator

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/tracing"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// metrics exports the state of an operator to Prometheus. The labels are names of resources,
// namespaces, modules and handlers. Guests cannot create labels after their registration.
type metrics struct {
	op      observed
	modules func() []*host.Module
	shared
}

// shared is what the modules of an operator share.
type shared struct {
	output   *host.OutputBucket
	share    *host.Share
	memories *host.MemoryPool
	tracer   tracing.Tracer
}

var _ prometheus.Collector = (*metrics)(nil)

func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("kopf_"+name, help, labels, nil)
}

var (
	streamEvent    = described("stream_last_event_timestamp_seconds", "When the stream had its last event, bookmarks included; 0: never.", "resource", "namespace", "purpose")
	streamContact  = described("stream_last_contact_timestamp_seconds", "When the server has last sent anything in the stream; 0: never.", "resource", "namespace", "purpose")
	streamEvents   = described("stream_events_total", "Events of the stream, listed objects and bookmarks included.", "resource", "namespace", "purpose")
	streamFailures = described("stream_failures_total", "Connections of the stream that have failed.", "resource", "namespace", "purpose")
	streamUp       = described("stream_up", "1 if changes of objects arrive as they should, else 0.", "resource", "namespace", "purpose")
	objects        = described("objects", "Objects that the operator remembers.")
	daemons        = described("daemons", "Daemons and timers that run.")
	indexed        = described("index_entries", "Pairs of objects and keys in all indices.")
	paused         = described("paused", "1 if other operators or replicas make this one pause, else 0.")
	leads          = described("leader", "1 if the operator is the leader of its replicas, else 0. Absent without replicas.")
	members        = described("replicas", "Replicas that share the objects. Absent if they do not share them.")
	shareObjects   = described("replica_objects", "Objects that belong to this replica.")
	shareMoves     = described("replica_moved_objects_total", "Objects that this replica has taken over, or given to others.", "direction")
	dropped        = described("events_dropped_total", "Kubernetes events that were dropped, since too many were pending.")
	delayed        = described("requests_delayed_total", "Requests to Kubernetes that waited, since the operator makes too many.")
	egressDelayed  = described("egress_delayed_total", "Requests of handlers that waited or were refused, since they send more bytes than EgressRate.")
	computeDelayed = described("computing_delayed_total", "Calls of all modules that waited, since they compute more than ComputeRate.")
	droppedLines   = described("dropped_lines_total", "Lines of output of all modules that were dropped, as they wrote more than LogLimit.")
	heldBytes      = described("held_bytes", "Memory of the host that is held for handlers, as the limits count it.", "kind")
	heldLimit      = described("held_limit_bytes", "The limit of the memory of the host that is held for handlers.", "kind")
	heldRefused    = described("held_refusals_total", "How often a limit of the memory of the host that is held for handlers has refused something.", "kind")
	certExpires    = described("webhook_certificate_expiry_timestamp_seconds", "When the certificate of the webhook server expires.")
	moduleCalls    = described("module_calls_total", "Calls of the module.", "module")
	moduleFailed   = described("module_failed_calls_total", "Calls of the module that have failed; each cost an instance.", "module")
	moduleStopped  = described("module_stopped_calls_total", "Calls of the module that a limit or their end has stopped.", "module")
	moduleDropped  = described("module_dropped_lines_total", "Lines of output of the module that were dropped, as its operator wrote more than LogLimit.", "module")
	moduleCPU      = described("module_computing_seconds_total", "Time that the module has spent computing.", "module")
	moduleMade     = described("module_instances_made_total", "Instances of the module that were made.", "module")
	moduleLiving   = described("module_instances", "Instances of the module.", "module", "state")
	moduleMemory   = described("module_memory_bytes", "Memory of the instances of the module. Shared pages count for each instance.", "module")
	memoryUsed     = described("instance_memory_bytes", "Memory of the instances of all modules, those of replaced modules included.")
	memoryLimit    = described("instance_memory_limit_bytes", "The limit of the memory of the instances of all modules.")
	memoryRefused  = described("instance_memory_refusals_total", "How often an instance could not be made, or not grow, since the limit was reached.")
	retrying       = described("pending_retries", "Objects that wait for the next attempt of a handler.")
	queued         = described("queue_events", "Events that wait for a worker.", "resource", "namespace")
	queueAge       = described("queue_oldest_event_age_seconds", "How long the oldest event has waited for a worker; 0: none waits.", "resource", "namespace")
	queueWorking   = described("queue_working_objects", "Objects that are handled, including those that wait for a retry.", "resource", "namespace")
	queueWait      = described("queue_wait_seconds", "How long events have waited for a worker.")
	apiRequests    = described("api_requests_total", "Requests to Kubernetes, by the status of the response; none: no response came.", "method", "code")
	apiTook        = described("api_request_duration_seconds", "How long requests to Kubernetes took until the header of the response.", "method")
	spansSent      = described("spans_sent_total", "Spans that a collector of traces has accepted.")
	spansDropped   = described("spans_dropped_total", "Spans that were dropped, since too many waited or no collector has accepted them.")
	handlerCalls   = described("handler_calls_total", "Calls of the handler that have ended.", "handler", "reason", "outcome")
	handlerTook    = described("handler_duration_seconds", "How long calls of the handler took, including waits.", "handler", "reason")
	handlerRetries = described("handler_retries_total", "Calls of the handler that repeat an earlier one.", "handler", "reason")
	handlerOver    = described("handler_exhausted_total", "How often the handler was not called, since its retries or its time were used up.", "handler", "reason")
	handlerRuns    = described("handler_running", "Calls of the handler that run now, including those that wait.", "handler", "reason")
	handlerDaemons = described("handler_daemons", "Daemons or timers of the handler that live, including those between two calls.", "handler", "reason")
)

// Describe sends no descriptors, because the metrics change with the cluster.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the current metrics.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for _, s := range apart(m.op.Streams()) {
		m.stream(ch, s)
	}
	counts := m.op.Counts()
	send(ch, objects, prometheus.GaugeValue, float64(counts.Objects))
	send(ch, daemons, prometheus.GaugeValue, float64(counts.Daemons))
	send(ch, indexed, prometheus.GaugeValue, float64(counts.Indexed))
	send(ch, paused, prometheus.GaugeValue, number(counts.Paused))
	if counts.Shared {
		send(ch, leads, prometheus.GaugeValue, number(counts.Leads))
	}
	if share := counts.Share; share != nil {
		send(ch, members, prometheus.GaugeValue, float64(share.Members))
		send(ch, shareObjects, prometheus.GaugeValue, float64(share.Objects))
		send(ch, shareMoves, prometheus.CounterValue, float64(share.Gained), "in")
		send(ch, shareMoves, prometheus.CounterValue, float64(share.Lost), "out")
	}
	send(ch, dropped, prometheus.CounterValue, float64(counts.EventsDropped))
	send(ch, delayed, prometheus.CounterValue, float64(counts.RequestsDelayed))
	send(ch, egressDelayed, prometheus.CounterValue, float64(counts.EgressDelayed))
	send(ch, computeDelayed, prometheus.CounterValue, float64(m.share.Delayed()))
	send(ch, droppedLines, prometheus.CounterValue, float64(m.output.Dropped()))
	send(ch, retrying, prometheus.GaugeValue, float64(counts.Calls.Delayed))
	m.memory(ch)
	m.backlogs(ch)
	m.measured(ch)
	for _, u := range m.op.Accounts() {
		send(ch, heldBytes, prometheus.GaugeValue, float64(u.Used), u.Kind.String())
		send(ch, heldLimit, prometheus.GaugeValue, float64(u.Limit), u.Kind.String())
		send(ch, heldRefused, prometheus.CounterValue, float64(u.Refused), u.Kind.String())
	}
	if expires, known := m.op.Expires(); known {
		send(ch, certExpires, prometheus.GaugeValue, seconds(expires))
	}
	seen := map[string]bool{}
	for _, module := range m.modules() {
		if name := legible.Line(module.Name()); !seen[name] {
			seen[name] = true
			m.module(ch, name, module.Usage())
		}
	}
}

// apart returns one state for each resource, namespace and purpose, since two equal metrics are an error. A stream
// that does not deliver, such as a dead one, comes before its successor.
func apart(states []watching.State) []watching.State {
	type key struct {
		resource, namespace string
		purpose             watching.Purpose
	}
	now, kept, at := time.Now(), []watching.State{}, map[key]int{}
	for _, s := range states {
		k := key{s.Resource, s.Namespace, s.Purpose}
		i, known := at[k]
		switch {
		case !known:
			at[k] = len(kept)
			kept = append(kept, s)
		case kept[i].Delivering(now) && !s.Delivering(now):
			kept[i] = s
		}
	}
	return kept
}

func (m *metrics) stream(ch chan<- prometheus.Metric, s watching.State) {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	send(ch, streamEvent, gauge, seconds(s.Event), s.Resource, s.Namespace, string(s.Purpose))
	send(ch, streamContact, gauge, seconds(s.Contact), s.Resource, s.Namespace, string(s.Purpose))
	send(ch, streamEvents, counter, float64(s.Events), s.Resource, s.Namespace, string(s.Purpose))
	send(ch, streamFailures, counter, float64(s.Failures), s.Resource, s.Namespace, string(s.Purpose))
	send(ch, streamUp, gauge, number(s.Delivering(time.Now())), s.Resource, s.Namespace, string(s.Purpose))
}

func (m *metrics) module(ch chan<- prometheus.Metric, name string, u host.Usage) {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	send(ch, moduleCalls, counter, float64(u.Calls), name)
	send(ch, moduleFailed, counter, float64(u.Failed), name)
	send(ch, moduleStopped, counter, float64(u.Stopped), name)
	send(ch, moduleCPU, counter, u.Computing.Seconds(), name)
	send(ch, moduleDropped, counter, float64(u.Dropped), name)
	send(ch, moduleMade, counter, float64(u.Made), name)
	send(ch, moduleMemory, gauge, float64(u.Memory), name)
	send(ch, moduleLiving, gauge, float64(u.Idle), name, "idle")
	send(ch, moduleLiving, gauge, float64(u.Living-u.Idle), name, "busy")
}

// memory exports the memory of instances.
func (m *metrics) memory(ch chan<- prometheus.Metric) {
	if m.memories == nil {
		return
	}
	send(ch, memoryUsed, prometheus.GaugeValue, float64(m.memories.Used()))
	send(ch, memoryLimit, prometheus.GaugeValue, float64(m.memories.Limit()))
	send(ch, memoryRefused, prometheus.CounterValue, float64(m.memories.Refused()))
}

// backlogs exports what waits in queues.
func (m *metrics) backlogs(ch chan<- prometheus.Metric) {
	for _, b := range m.op.Backlogs() {
		send(ch, queued, prometheus.GaugeValue, float64(b.Queued), b.Resource, b.Namespace)
		send(ch, queueAge, prometheus.GaugeValue, b.Age.Seconds(), b.Resource, b.Namespace)
		send(ch, queueWorking, prometheus.GaugeValue, float64(b.Working), b.Resource, b.Namespace)
	}
}

// measured exports what was measured: waits, requests, and calls of handlers.
func (m *metrics) measured(ch chan<- prometheus.Metric) {
	all := m.op.Meters()
	histogram(ch, queueWait, all.Waits.Read())
	if spans := spansOf(m.tracer); spans != nil {
		send(ch, spansSent, prometheus.CounterValue, float64(spans.Sent))
		send(ch, spansDropped, prometheus.CounterValue, float64(spans.Dropped))
	}
	for _, r := range all.Requests.Read() {
		send(ch, apiRequests, prometheus.CounterValue, float64(r.Count), r.Method, r.Code)
	}
	for method, took := range all.Requests.Took() {
		histogram(ch, apiTook, took, method)
	}
	for _, c := range all.Handlers.Read() {
		for outcome, count := range c.Ended {
			send(ch, handlerCalls, prometheus.CounterValue, float64(count), c.Handler, c.Reason, meters.Outcome(outcome).String())
		}
		histogram(ch, handlerTook, c.Took, c.Handler, c.Reason)
		send(ch, handlerRetries, prometheus.CounterValue, float64(c.Retries), c.Handler, c.Reason)
		send(ch, handlerOver, prometheus.CounterValue, float64(c.Exhausted), c.Handler, c.Reason)
		send(ch, handlerRuns, prometheus.GaugeValue, float64(c.Running), c.Handler, c.Reason)
		if c.IsLasting() {
			send(ch, handlerDaemons, prometheus.GaugeValue, float64(c.Living), c.Handler, c.Reason)
		}
	}
}

func histogram(ch chan<- prometheus.Metric, desc *prometheus.Desc, d meters.Distribution, labels ...string) {
	ch <- prometheus.MustNewConstHistogram(desc, d.Count(), d.Seconds(), d.Buckets(), lines(labels)...)
}

func send(ch chan<- prometheus.Metric, desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(desc, kind, value, lines(labels)...)
}

// lines makes values of labels legible. A value that is not UTF-8 would end the process.
func lines(labels []string) []string {
	for i := range labels {
		labels[i] = legible.Line(labels[i])
	}
	return labels
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / float64(time.Second)
}

func number(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
