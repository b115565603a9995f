package guest

import (
	"math"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// Messages are decoded by hand: reflection would take a third of a megabyte in
// each module, and time in each call. Fields of a wrong type have their zero value,
// as unknown ones are ignored; the golden messages of package abi test that none
// is forgotten.

// members goes over the fields of a message.
func members(raw []byte, field func(key []byte, value []byte)) error {
	if jsonlite.KindOf(raw) != jsonlite.Object {
		return jsonlite.ErrSyntax
	}
	s := jsonlite.Scan(raw)
	for s.Next() {
		field(s.RawKey(), s.Value())
	}
	return s.Err()
}

// each goes over the items of a list.
func each(raw []byte, item func(value []byte)) {
	if jsonlite.KindOf(raw) != jsonlite.Array {
		return
	}
	for s := jsonlite.Scan(raw); s.Next(); {
		item(s.Value())
	}
}

func toInt(raw []byte) int {
	n, ok := jsonlite.ParseInt(raw)
	if !ok || int64(int(n)) != n {
		return 0
	}
	return int(n)
}

func toTask(raw []byte) uint32 {
	n, ok := jsonlite.ParseInt(raw)
	if !ok || n < 0 || n > math.MaxUint32 {
		return 0
	}
	return uint32(n)
}

func toFloat(raw []byte) float64 {
	f, _ := jsonlite.ParseFloat(raw, 64)
	return f
}

func toBool(raw []byte) bool { return string(raw) == "true" }

// toStrings reads a list of texts by toText or jsonlite.Unquote.
//
//go:noinline // a copy at each place would be larger than the call
func toStrings(raw []byte, text func([]byte) string) (list []string) {
	each(raw, func(value []byte) { list = append(list, text(value)) })
	return list
}

// toHeaders reads headers by toText or jsonlite.Unquote.
func toHeaders(raw []byte, text func([]byte) string) map[string][]string {
	if jsonlite.KindOf(raw) != jsonlite.Object {
		return nil
	}
	headers := map[string][]string{}
	for s := jsonlite.Scan(raw); s.Next(); {
		headers[s.Key()] = toStrings(s.Value(), text)
	}
	return headers
}

func decodeRequest(raw []byte) (req abi.RegisterRequest, err error) {
	err = members(raw, func(key, value []byte) {
		switch string(key) {
		case "abi":
			req.ABI = toInt(value)
		case "host":
			req.Host = jsonlite.Unquote(value)
		case "config":
			req.Config = map[string]string{}
			for s := jsonlite.Scan(value); s.Next(); {
				req.Config[s.Key()] = jsonlite.Unquote(s.Value())
			}
		}
	})
	return req, err
}

// decodeInvocation reads a header. Texts are parts of it, so it must not be changed.
func (m *Module) decodeInvocation(raw []byte, t *Task) error {
	return members(raw, func(key, value []byte) { m.invocationField(t, key, value) })
}

// toText is a text without a copy, for messages that are kept as long as their texts: a part of another one would keep all of it.
func toText(raw []byte) string {
	if plain, ok := jsonlite.Plain(raw); ok {
		return textOf(plain)
	}
	return jsonlite.Unquote(raw)
}

// decodedResource is the resource of the latest call, which is mostly that of the next one.
type decodedResource struct {
	raw  string
	info *abi.ResourceInfo
}

func (d *decodedResource) decode(raw []byte) *abi.ResourceInfo {
	if d.raw != string(raw) {
		d.raw, d.info = string(raw), toResource(raw)
	}
	return d.info
}

func (m *Module) invocationField(t *Task, key, value []byte) {
	call := &t.Call
	if text := invocationText(call, key); text != nil {
		*text = toText(value)
		return
	}
	switch string(key) {
	case "handler":
		call.Handler = toInt(value)
	case "parent":
		call.Parent = toTask(value)
	case "kind":
		call.Kind = abi.Kind(toText(value))
	case "param":
		call.Param = value
	case "retry":
		call.Retry = toInt(value)
	case "runtime":
		call.Runtime = toFloat(value)
	case "resource":
		call.Resource = m.resource.decode(value)
	case "field":
		call.Field = toStrings(value, toText)
	default:
		specialField(t, key, value)
	}
}

// invocationText finds the fields that are texts; nil for another key.
func invocationText(call *abi.Invocation, key []byte) *string {
	switch string(key) {
	case "id":
		return &call.ID
	case "started":
		return &call.Started
	case "name":
		return &call.Name
	case "namespace":
		return &call.Namespace
	case "uid":
		return &call.UID
	case "reason":
		return &call.Reason
	case "activity":
		return &call.Activity
	}
	return nil
}

// specialField takes the fields that only some kinds of handlers have.
func specialField(t *Task, key, value []byte) {
	call := &t.Call
	switch string(key) {
	case "type":
		if jsonlite.KindOf(value) == jsonlite.String {
			eventType := toText(value)
			call.EventType = &eventType
		}
	case "settings":
		call.Settings = value
	case "logins":
		call.Logins = toStrings(value, toText)
	case "indices":
		call.Indices = toStrings(value, toText)
	case "admission":
		t.admission = value
	case "conversion":
		t.conversion = value
	}
}

func toResource(raw []byte) *abi.ResourceInfo {
	r := &abi.ResourceInfo{}
	err := members(raw, func(key, value []byte) {
		if text := resourceText(r, key); text != nil {
			*text = jsonlite.Unquote(value)
		} else if list := resourceList(r, key); list != nil {
			*list = toStrings(value, jsonlite.Unquote)
		} else if string(key) == "namespaced" {
			r.Namespaced = toBool(value)
		} else if string(key) == "preferred" {
			r.Preferred = toBool(value)
		}
	})
	if err != nil {
		return nil
	}
	return r
}

// resourceText finds the fields that are texts; nil for another key.
func resourceText(r *abi.ResourceInfo, key []byte) *string {
	switch string(key) {
	case "group":
		return &r.Group
	case "version":
		return &r.Version
	case "plural":
		return &r.Plural
	case "kind":
		return &r.Kind
	case "singular":
		return &r.Singular
	}
	return nil
}

// resourceList finds the fields that are lists of texts; nil for another key.
func resourceList(r *abi.ResourceInfo, key []byte) *[]string {
	switch string(key) {
	case "shortcuts":
		return &r.Shortcuts
	case "categories":
		return &r.Categories
	case "subresources":
		return &r.Subresources
	case "verbs":
		return &r.Verbs
	}
	return nil
}

func toConversion(raw []byte) *abi.Conversion {
	c := &abi.Conversion{}
	err := members(raw, func(key, value []byte) {
		switch string(key) {
		case "from":
			c.From = jsonlite.Unquote(value)
		case "to":
			c.To = jsonlite.Unquote(value)
		}
	})
	if err != nil {
		return nil
	}
	return c
}

func toAdmission(raw []byte) *abi.Admission {
	a := &abi.Admission{}
	err := members(raw, func(key, value []byte) {
		switch string(key) {
		case "operation":
			a.Operation = toText(value)
		case "subresource":
			a.Subresource = toText(value)
		case "dryrun":
			a.DryRun = toBool(value)
		case "userinfo":
			a.UserInfo = value
		case "headers":
			a.Headers = toHeaders(value, toText)
		case "sslpeer":
			a.SSLPeer = value
		}
	})
	if err != nil {
		return nil
	}
	return a
}

// decodeAnswer reads an answer; what is about requests by a function, if there was one.
func decodeAnswer(raw []byte, request func(answer *abi.Answer, key, value []byte)) (answer abi.Answer, err error) {
	err = members(raw, func(key, value []byte) {
		switch string(key) {
		case "stopped":
			answer.Stopped = toStrings(value, jsonlite.Unquote)
		case "cancelled":
			answer.Cancelled = toBool(value)
		case "pending":
			answer.Pending = toBool(value)
		default:
			if request != nil {
				request(&answer, key, value)
			}
		}
	})
	return answer, err
}

// toRequestAnswer reads what only answers to requests have.
func toRequestAnswer(answer *abi.Answer, key, value []byte) {
	switch string(key) {
	case "response":
		answer.Response = toResponse(value)
	case "error":
		answer.Error = toError(value)
	}
}

func toResponse(raw []byte) *abi.Response {
	r := &abi.Response{}
	err := members(raw, func(key, value []byte) {
		switch string(key) {
		case "status":
			r.Status = toInt(value)
		case "headers":
			r.Headers = toHeaders(value, jsonlite.Unquote)
		case "body":
			r.Body = value
		case "encoding":
			r.Encoding = jsonlite.Unquote(value)
		}
	})
	if err != nil {
		return nil
	}
	return r
}

func toError(raw []byte) *abi.Error {
	e := &abi.Error{}
	err := members(raw, func(key, value []byte) {
		switch string(key) {
		case "kind":
			e.Kind = abi.ErrorKind(jsonlite.Unquote(value))
		case "message":
			e.Message = jsonlite.Unquote(value)
		case "type":
			e.Type = jsonlite.Unquote(value)
		case "stack":
			e.Stack = jsonlite.Unquote(value)
		case "delay":
			e.Delay = toDelay(value)
		case "code":
			e.Code = toInt(value)
		}
	})
	if err != nil {
		return nil
	}
	return e
}

func toDelay(raw []byte) abi.Delay {
	if jsonlite.KindOf(raw) == jsonlite.Null {
		return abi.Delay{Said: true, None: true}
	}
	return abi.DelayOf(toFloat(raw))
}

// decodeQuestions reads questions, and the invocation that they are about.
func (m *Module) decodeQuestions(raw []byte, t *Task) (list []abi.Question, err error) {
	var malformed error
	err = members(raw, func(key, value []byte) {
		if string(key) != "questions" {
			m.invocationField(t, key, value)
			return
		}
		each(value, func(item []byte) { // each has an answer at its position
			question, err := toQuestion(item)
			if err != nil {
				malformed = err
			}
			list = append(list, question)
		})
	})
	if err == nil {
		err = malformed
	}
	return list, err
}

func toQuestion(raw []byte) (q abi.Question, err error) {
	err = members(raw, func(key, value []byte) {
		switch string(key) {
		case "handler":
			q.Handler = toInt(value)
		case "parent":
			q.Parent = toTask(value)
		case "callbacks":
			each(value, func(item []byte) { q.Callbacks = append(q.Callbacks, toCallback(item)) })
		}
	})
	return q, err
}

func toCallback(raw []byte) (c abi.Callback) {
	for s := jsonlite.Scan(raw); s.Next(); {
		switch string(s.RawKey()) {
		case "option":
			c.Option = jsonlite.Unquote(s.Value())
		case "key":
			c.Key = jsonlite.Unquote(s.Value())
		case "values":
			each(s.Value(), func(item []byte) { c.Values = append(c.Values, toValue(item)) })
		}
	}
	return c
}

func toValue(raw []byte) (v abi.Value) {
	for s := jsonlite.Scan(raw); s.Next(); {
		switch string(s.RawKey()) {
		case "value":
			v.Value = s.Value()
		case "absent":
			v.Absent = toBool(s.Value())
		}
	}
	return v
}
