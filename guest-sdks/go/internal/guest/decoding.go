package guest

import (
	"strconv"

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
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0
	}
	return n
}

func toTask(raw []byte) uint32 {
	n, err := strconv.ParseUint(string(raw), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

func toFloat(raw []byte) float64 {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0
	}
	return f
}

func toBool(raw []byte) bool { return string(raw) == "true" }

func toStrings(raw []byte) (list []string) {
	each(raw, func(value []byte) { list = append(list, jsonlite.Unquote(value)) })
	return list
}

func toHeaders(raw []byte) map[string][]string {
	if jsonlite.KindOf(raw) != jsonlite.Object {
		return nil
	}
	headers := map[string][]string{}
	for s := jsonlite.Scan(raw); s.Next(); {
		headers[s.Key()] = toStrings(s.Value())
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

func (m *Module) decodeInvocation(raw []byte) (call abi.Invocation, err error) {
	err = members(raw, func(key, value []byte) {
		if string(key) == "resource" {
			call.Resource = m.resource.decode(value)
		} else {
			invocationField(&call, key, value)
		}
	})
	return call, err
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

func invocationField(call *abi.Invocation, key, value []byte) {
	switch string(key) {
	case "handler":
		call.Handler = toInt(value)
	case "parent":
		call.Parent = toTask(value)
	case "kind":
		call.Kind = abi.Kind(jsonlite.Unquote(value))
	case "id":
		call.ID = jsonlite.Unquote(value)
	case "param":
		call.Param = value
	case "retry":
		call.Retry = toInt(value)
	case "started":
		call.Started = jsonlite.Unquote(value)
	case "runtime":
		call.Runtime = toFloat(value)
	case "resource":
		call.Resource = toResource(value)
	case "name":
		call.Name = jsonlite.Unquote(value)
	case "namespace":
		call.Namespace = jsonlite.Unquote(value)
	case "uid":
		call.UID = jsonlite.Unquote(value)
	case "reason":
		call.Reason = jsonlite.Unquote(value)
	case "field":
		call.Field = toStrings(value)
	default:
		specialField(call, key, value)
	}
}

// specialField takes the fields that only some kinds of handlers have.
func specialField(call *abi.Invocation, key, value []byte) {
	switch string(key) {
	case "type":
		if jsonlite.KindOf(value) == jsonlite.String {
			eventType := jsonlite.Unquote(value)
			call.EventType = &eventType
		}
	case "activity":
		call.Activity = jsonlite.Unquote(value)
	case "settings":
		call.Settings = value
	case "logins":
		call.Logins = toStrings(value)
	case "admission":
		call.Admission = toAdmission(value)
	case "conversion":
		call.Conversion = toConversion(value)
	case "indices":
		call.Indices = toStrings(value)
	}
}

func toResource(raw []byte) *abi.ResourceInfo {
	r := &abi.ResourceInfo{}
	err := members(raw, func(key, value []byte) {
		switch string(key) {
		case "group":
			r.Group = jsonlite.Unquote(value)
		case "version":
			r.Version = jsonlite.Unquote(value)
		case "plural":
			r.Plural = jsonlite.Unquote(value)
		case "kind":
			r.Kind = jsonlite.Unquote(value)
		case "singular":
			r.Singular = jsonlite.Unquote(value)
		case "shortcuts":
			r.Shortcuts = toStrings(value)
		case "categories":
			r.Categories = toStrings(value)
		case "subresources":
			r.Subresources = toStrings(value)
		case "namespaced":
			r.Namespaced = toBool(value)
		case "preferred":
			r.Preferred = toBool(value)
		case "verbs":
			r.Verbs = toStrings(value)
		}
	})
	if err != nil {
		return nil
	}
	return r
}

func toConversion(raw []byte) *abi.Conversion {
	c := &abi.Conversion{}
	_ = members(raw, func(key, value []byte) {
		switch string(key) {
		case "from":
			c.From = jsonlite.Unquote(value)
		case "to":
			c.To = jsonlite.Unquote(value)
		}
	})
	return c
}

func toAdmission(raw []byte) *abi.Admission {
	a := &abi.Admission{}
	err := members(raw, func(key, value []byte) {
		switch string(key) {
		case "operation":
			a.Operation = jsonlite.Unquote(value)
		case "subresource":
			a.Subresource = jsonlite.Unquote(value)
		case "dryrun":
			a.DryRun = toBool(value)
		case "userinfo":
			a.UserInfo = value
		case "headers":
			a.Headers = toHeaders(value)
		case "sslpeer":
			a.SSLPeer = value
		}
	})
	if err != nil {
		return nil
	}
	return a
}

func decodeAnswer(raw []byte) (answer abi.Answer, err error) {
	err = members(raw, func(key, value []byte) {
		switch string(key) {
		case "stopped":
			answer.Stopped = toStrings(value)
		case "cancelled":
			answer.Cancelled = toBool(value)
		case "pending":
			answer.Pending = toBool(value)
		case "response":
			answer.Response = toResponse(value)
		case "error":
			answer.Error = toError(value)
		}
	})
	return answer, err
}

func toResponse(raw []byte) *abi.Response {
	r := &abi.Response{}
	err := members(raw, func(key, value []byte) {
		switch string(key) {
		case "status":
			r.Status = toInt(value)
		case "headers":
			r.Headers = toHeaders(value)
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

func decodeQuestions(raw []byte) (asked abi.Questions, err error) {
	err = members(raw, func(key, value []byte) {
		if string(key) != "questions" {
			invocationField(&asked.Invocation, key, value)
			return
		}
		each(value, func(item []byte) {
			var question abi.Question
			if question, err = toQuestion(item); err == nil {
				asked.Questions = append(asked.Questions, question)
			}
		})
	})
	return asked, err
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
