package clustertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
)

// auditLogFile is the name of the audit log in the data folder.
const auditLogFile = "audit.log"

// AuditEvent is one request as the API server recorded it, in part.
//
// See https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
type AuditEvent struct {
	Stage string `json:"stage"` // ResponseComplete, or ResponseStarted of a watch
	Verb  string `json:"verb"`  // get, list, watch, create, update, patch, delete, …
	URI   string `json:"requestURI"`
	User  struct {
		Name string `json:"username"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	Object    struct {
		Group       string `json:"apiGroup"`
		Version     string `json:"apiVersion"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	// The bodies; empty for reads.
	RequestBody  json.RawMessage `json:"requestObject"`
	ResponseBody json.RawMessage `json:"responseObject"`
}

// AuditLog returns the recorded requests of the users, or of all recorded
// ones if none is named, in the order of their completion. A request may
// appear a moment after its client has the answer.
func (c *ControlPlane) AuditLog(tb testing.TB, users ...string) []AuditEvent {
	tb.Helper()
	text, err := os.ReadFile(c.file(auditLogFile))
	if err != nil {
		tb.Fatalf("audit log: %v (was the cluster started with one?)", err)
	}
	events, err := parseAudit(text, users)
	if err != nil {
		tb.Fatalf("audit log: %v", err)
	}
	return events
}

// parseAudit reads a log whose last line may be incomplete, since the server
// continues to write.
func parseAudit(text []byte, users []string) ([]AuditEvent, error) {
	var events []AuditEvent
	for number := 1; ; number++ {
		line, rest, complete := bytes.Cut(text, []byte("\n"))
		if !complete {
			return events, nil
		}
		text = rest
		var event AuditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if len(users) == 0 || slices.Contains(users, event.User.Name) {
			events = append(events, event)
		}
	}
}
