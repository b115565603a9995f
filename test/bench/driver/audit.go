package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// audit is the log of the API server with all requests of the operators.
type audit struct{ path string }

// requests counts requests by verb and resource: "patch kopfexamples". Those that
// failed have the code of the response, too.
type requests map[string]int

// total number of requests.
func (r requests) total() int {
	sum := 0
	for _, count := range r {
		sum += count
	}
	return sum
}

// position is the present end of the log.
func (a *audit) position() (int64, error) {
	info, err := os.Stat(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// since counts the requests of a user since a position, all and those that write.
func (a *audit) since(position int64, user string) (all requests, writes int, err error) {
	file, err := os.Open(a.path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	if _, err := file.Seek(position, io.SeekStart); err != nil {
		return nil, 0, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, 0, err
	}
	return countRequests(text, user)
}

// auditEvent is one request, in part.
//
// See https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
type auditEvent struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	User  struct {
		Name string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// countRequests reads complete lines; the last one may still be written.
func countRequests(text []byte, user string) (all requests, writes int, err error) {
	all = requests{}
	for {
		line, rest, complete := bytes.Cut(text, []byte("\n"))
		if !complete {
			return all, writes, nil
		}
		text = rest
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, 0, fmt.Errorf("the audit log: %w", err)
		}
		// A watch that ends began before; one that begins has a stage of its own.
		if event.User.Name != user || event.Verb == "watch" && event.Stage != "ResponseStarted" {
			continue
		}
		all[event.name()]++
		switch event.Verb {
		case "create", "update", "patch", "delete", "deletecollection":
			writes++
		}
	}
}

func (e *auditEvent) name() string {
	name := e.Verb + " " + e.Object.Resource
	if e.Object.Subresource != "" {
		name += "/" + e.Object.Subresource
	}
	if e.Response.Code >= 400 {
		name += fmt.Sprintf(" (%d)", e.Response.Code)
	}
	return name
}
