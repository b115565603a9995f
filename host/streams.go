package host

import (
	"fmt"

	"github.com/kopf-wasm/kopf/host/output"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// openOutput prepares the destinations of the guest's output.
func (m *Module) openOutput() {
	m.streams = [2]*output.Stream{output.NewStream(m.options.Stdout), output.NewStream(m.options.Stderr)}
	report := m.options.Dropped
	if report == nil {
		report = m.reportDropped
	}
	bucket := m.options.Output
	if bucket == nil {
		bucket = output.NewBucket(m.options.LogLimit)
	}
	m.output = output.NewLimit(bucket, report)
}

// reportDropped writes the report of dropped lines if Options.Dropped is nil.
func (m *Module) reportDropped(lines int64) {
	m.streams[1].Write(fmt.Appendf(nil, "%s: %d lines dropped: more than %d bytes a second are written\n", legible.Line(m.name), lines, m.output.Rate()))
}
