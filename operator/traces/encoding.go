package traces

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// scope is the name of what has made the spans.
const scope = "github.com/kopf-wasm/kopf"

// failed is the status code of a span with an error.
const failed = 2

// The types of a request, as the mapping of Protocol Buffers to JSON has them: 64-bit numbers are
// texts, and ids are hexadecimal.
//
// See https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope instrumentation `json:"scope"`
		Spans []span          `json:"spans"`
	}
	instrumentation struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	span struct {
		TraceID      string      `json:"traceId"`
		SpanID       string      `json:"spanId"`
		ParentSpanID string      `json:"parentSpanId,omitempty"`
		Name         string      `json:"name"`
		Kind         int         `json:"kind"`
		Start        string      `json:"startTimeUnixNano"`
		End          string      `json:"endTimeUnixNano"`
		Attributes   []attribute `json:"attributes,omitempty"`
		Status       *status     `json:"status,omitempty"`
	}
	status struct {
		Code    int    `json:"code"`
		Message string `json:"message,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text   *string `json:"stringValue,omitempty"`
		Number *string `json:"intValue,omitempty"`
	}
)

// textual is an attribute with a text.
func textual(key, text string) attribute { return attribute{key, value{Text: &text}} }

// encode makes the body of a request, with one resource for each operator.
func encode(version string, batch []part) []byte {
	all := make([]resourceSpans, 0, len(batch))
	for _, p := range batch {
		spans := make([]span, 0, len(p.spans))
		for _, s := range p.spans {
			spans = append(spans, encodeSpan(s))
		}
		all = append(all, resourceSpans{Resource: resource{p.of.about}, ScopeSpans: []scopeSpans{{instrumentation{scope, version}, spans}}})
	}
	body, _ := json.Marshal(request{all}) // texts and numbers can always be encoded
	return body
}

func encodeSpan(s *tracing.Record) span {
	out := span{
		TraceID: hex.EncodeToString(s.Trace[:]), SpanID: hex.EncodeToString(s.ID[:]), Name: s.Name, Kind: int(s.Kind),
		Start: nanoseconds(s.Begin), End: nanoseconds(s.End),
	}
	if s.Parent != [8]byte{} {
		out.ParentSpanID = hex.EncodeToString(s.Parent[:])
	}
	for _, a := range s.Attributes {
		v := value{Text: &a.Text}
		if a.IsNumber {
			v = value{Number: new(strconv.FormatInt(a.Number, 10))}
		}
		out.Attributes = append(out.Attributes, attribute{a.Key, v})
	}
	if s.Failed {
		out.Status = &status{failed, s.Message}
	}
	return out
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
