package extism

import (
	"bytes"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests"
)

// document returns a message in the form of plugins. A frame becomes one object, in which the
// segments are fields next to those of the header.
func document(c guests.Call, m guests.Message) []byte {
	if c.Export() == abi.ExportRegister {
		return m.Text
	}
	parts := []part{{"task", fmt.Append(nil, m.Task)}}
	switch {
	case c.Export() == abi.ExportTransform:
		return jsonObject(nil, append(parts, part{"body", m.Text}))
	case m.Framed:
		parts = append(parts, part{"body", m.Body})
		for _, s := range segments {
			parts = append(parts, part{s.name, c.Owner().Env.Segment(s.tag)})
		}
	}
	return jsonObject(m.Text, parts)
}

// segments lists the segments that other guests fetch on demand. A plugin gets them
// with the message.
var segments = []struct {
	name string
	tag  uint32
}{{"old", abi.TagOld}, {"new", abi.TagNew}, {"diff", abi.TagDiff}, {"event", abi.TagEvent}}

// part is a field of a document.
type part struct {
	name  string
	value []byte // empty: absent
}

// jsonObject adds fields to the text of a JSON object.
func jsonObject(text []byte, parts []part) []byte {
	var out bytes.Buffer
	out.WriteByte('{')
	for _, p := range parts {
		if len(p.value) == 0 {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%q:", p.name)
		out.Write(p.value)
	}
	if rest := bytes.TrimSpace(text); len(rest) > 2 { // more than {}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(rest[1:])
	} else {
		out.WriteByte('}')
	}
	return out.Bytes()
}
