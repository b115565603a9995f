package endpoints

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/reactor/meters"
)

// collector exports the facts of operators to Prometheus. The labels are the namespaces and
// names of operators and of their handlers, never those of objects. The numbers of operators and
// of handlers in a report are bounded, and so is the number of series.
type collector struct{ reports *reports }

var _ prometheus.Collector = (*collector)(nil)

func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("kopf_"+name, help, append([]string{"operator_namespace", "operator"}, labels...), nil)
}

var (
	operators = prometheus.NewDesc("kopf_operators", "Operators that are declared.", nil, nil)
	omitted   = prometheus.NewDesc("kopf_operators_omitted", "Operators without metrics of their own, because there are too many.", nil, nil)
	leads     = prometheus.NewDesc("kopf_leader", "1 if the host is the leader of its replicas, else 0. Absent without replicas.", nil, nil)
	members   = prometheus.NewDesc("kopf_replicas", "Hosts that share the objects. Absent if they do not share them.", nil, nil)
	shared    = prometheus.NewDesc("kopf_operators_memory_bytes", "Memory that all operators have together. Absent if that of the process is not known.", nil, nil)
	limited   = prometheus.NewDesc("kopf_operators_memory_limit_bytes", "Memory that all operators may have together. Absent if that of the process is not known.", nil, nil)
	memory    = described("operator_memory_bytes", "Memory of the operator: of its instances, and of the host for its handlers.", "kind")
	requests  = described("operator_api_requests_total", "Requests to Kubernetes, by the status of the response; none: no response came.", "code")
	took      = described("operator_call_duration_seconds", "How long calls of handlers took, including waits.")
	calls     = described("operator_handler_calls_total", "Calls of the handler that have ended.", "handler", "reason", "outcome")
	retries   = described("operator_handler_retries_total", "Calls of the handler that repeat an earlier one.", "handler", "reason")
	running   = described("operator_handler_running", "Calls of the handler that run now, including those that wait.", "handler", "reason")
	spent     = described("operator_handler_seconds_total", "Time of all calls of the handler, including waits.", "handler", "reason")
	sent      = described("operator_spans_sent_total", "Spans of the operator that a collector of traces has accepted.")
	dropped   = described("operator_spans_dropped_total", "Spans of the operator that were dropped, since too many waited or no collector has accepted them.")
	hits      = described("operator_limit_hits_total", "How often a limit of the operator has refused, delayed or dropped something.", "limit")
)

// numbers are the metrics of an operator without further labels.
var numbers = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(f *facts.Operator) float64
}{
	{described("operator_ready", "1 if the operator serves as declared, else 0."), prometheus.GaugeValue, func(f *facts.Operator) float64 { return truth(f.Ready) }},
	{described("operator_running", "1 if the operator runs, else 0."), prometheus.GaugeValue, func(f *facts.Operator) float64 { return truth(f.Started != nil) }},
	{described("operator_restarts", "Restarts of the operator since its declaration has changed."), prometheus.GaugeValue, func(f *facts.Operator) float64 { return float64(f.Restarts) }},
	{described("operator_objects", "Objects that the operator remembers."), prometheus.GaugeValue, func(f *facts.Operator) float64 { return float64(f.Work.Objects) }},
	{described("operator_daemons", "Daemons and timers that run."), prometheus.GaugeValue, func(f *facts.Operator) float64 { return float64(f.Work.Daemons) }},
	{described("operator_queued_events", "Events that wait for a worker."), prometheus.GaugeValue, func(f *facts.Operator) float64 { return float64(f.Work.Queued) }},
	{described("operator_working_objects", "Objects that are handled, including those that wait for a retry."), prometheus.GaugeValue, func(f *facts.Operator) float64 { return float64(f.Work.Working) }},
	{described("operator_pending_retries", "Objects that wait for the next attempt of a handler."), prometheus.GaugeValue, func(f *facts.Operator) float64 { return float64(f.Work.Retries) }},
	{described("operator_oldest_event_age_seconds", "How long the oldest event has waited for a worker; 0: none waits."), prometheus.GaugeValue, func(f *facts.Operator) float64 { return f.Work.OldestSeconds }},
	{described("operator_calls_total", "Calls of handlers that have ended."), prometheus.CounterValue, func(f *facts.Operator) float64 { return float64(f.Work.Calls) }},
	{described("operator_failed_calls_total", "Calls of handlers that have ended with an error."), prometheus.CounterValue, func(f *facts.Operator) float64 { return float64(f.Work.Errors) }},
	{described("operator_lost_calls_total", "Calls of the module that trapped or exceeded a limit."), prometheus.CounterValue, func(f *facts.Operator) float64 { return float64(f.Work.Lost) }},
	{described("operator_instances", "Instances of the module."), prometheus.GaugeValue, func(f *facts.Operator) float64 { return float64(f.Work.Instances) }},
	{described("operator_computing_seconds_total", "Time that the module has spent computing."), prometheus.CounterValue, func(f *facts.Operator) float64 { return f.Work.ComputingSeconds }},
}

// Describe sends no descriptors, because the metrics change with the declarations.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the current metrics.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	report := c.reports.latest()
	ch <- prometheus.MustNewConstMetric(operators, prometheus.GaugeValue, float64(report.Host.Operators))
	ch <- prometheus.MustNewConstMetric(omitted, prometheus.GaugeValue, float64(report.Omitted))
	if both := report.Host.Memory; both != nil {
		ch <- prometheus.MustNewConstMetric(shared, prometheus.GaugeValue, float64(both.Used))
		ch <- prometheus.MustNewConstMetric(limited, prometheus.GaugeValue, float64(both.Limit))
	}
	if replicas := report.Host.Replicas; replicas != nil {
		ch <- prometheus.MustNewConstMetric(leads, prometheus.GaugeValue, truth(replicas.Leads))
		if replicas.Shared {
			ch <- prometheus.MustNewConstMetric(members, prometheus.GaugeValue, float64(replicas.Members))
		}
	}
	for i := range report.Operators {
		f := &report.Operators[i]
		for _, number := range numbers {
			ch <- prometheus.MustNewConstMetric(number.desc, number.kind, number.of(f), f.Namespace, f.Name)
		}
		ch <- prometheus.MustNewConstMetric(memory, prometheus.GaugeValue, float64(f.Memory.Instances), f.Namespace, f.Name, "instances")
		ch <- prometheus.MustNewConstMetric(memory, prometheus.GaugeValue, float64(f.Memory.Host), f.Namespace, f.Name, "host")
		for _, limit := range f.Limits {
			ch <- prometheus.MustNewConstMetric(hits, prometheus.CounterValue, float64(limit.Hits), f.Namespace, f.Name, limit.Name)
		}
		measured(ch, f, share(len(report.Operators)))
	}
}

// maxHandlers bounds the handlers with metrics in a report, and fewest is how many each operator
// may have in any case.
const (
	maxHandlers = 20_000
	fewest      = 4
)

// share returns how many handlers of each operator have metrics.
func share(operators int) int { return max(maxHandlers/max(operators, 1), fewest) }

// measured sends the requests and the spans of an operator, and the calls of its first handlers.
func measured(ch chan<- prometheus.Metric, f *facts.Operator, most int) {
	for code, count := range f.Measured.Requests {
		ch <- prometheus.MustNewConstMetric(requests, prometheus.CounterValue, float64(count), f.Namespace, f.Name, code)
	}
	if spans := f.Measured.Spans; spans != nil {
		ch <- prometheus.MustNewConstMetric(sent, prometheus.CounterValue, float64(spans.Sent), f.Namespace, f.Name)
		ch <- prometheus.MustNewConstMetric(dropped, prometheus.CounterValue, float64(spans.Dropped), f.Namespace, f.Name)
	}
	ch <- prometheus.MustNewConstHistogram(took, f.Measured.Took.Count(), f.Measured.Took.Seconds(), f.Measured.Took.Buckets(), f.Namespace, f.Name)
	for _, h := range f.Measured.Handlers[:min(most, len(f.Measured.Handlers))] {
		for outcome := range meters.Outcomes {
			ch <- prometheus.MustNewConstMetric(calls, prometheus.CounterValue, float64(h.Calls[outcome.String()]), f.Namespace, f.Name, h.Handler, h.Reason, outcome.String())
		}
		ch <- prometheus.MustNewConstMetric(retries, prometheus.CounterValue, float64(h.Retries), f.Namespace, f.Name, h.Handler, h.Reason)
		ch <- prometheus.MustNewConstMetric(running, prometheus.GaugeValue, float64(h.Running), f.Namespace, f.Name, h.Handler, h.Reason)
		ch <- prometheus.MustNewConstMetric(spent, prometheus.CounterValue, h.Seconds, f.Namespace, f.Name, h.Handler, h.Reason)
	}
}

func truth(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
