package vectors

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/posting"
)

var postingFunctions = map[string]Function{
	"k8s-events": {Call: postEvent},
}

const alphabet = "abcdefghijklmnopqrstuvwxyz"

func postEvent(c Case) (any, error) {
	message := dicts.LookupString(c.In, "message")
	var length int
	if _, err := fmt.Sscanf(message, "a..z repeated to the length of %d", &length); err == nil {
		message = strings.Repeat(alphabet, length/len(alphabet)+1)[:length]
	}
	origin := posting.Origin{Component: "kopf", Instance: "dev", NamePrefix: "kopf-event-", Namespace: "context-ns"}
	ref := posting.RefOf(refAsBody(dicts.LookupObject(c.In, "ref")))
	if ref.IsEvent() {
		return nil, nil
	}
	path, payload, err := origin.Request(posting.Event{
		Ref:  ref,
		Type: dicts.LookupString(c.In, "type"), Reason: dicts.LookupString(c.In, "reason"), Message: message,
	}, time.Now())
	if err != nil {
		return nil, err
	}
	for _, field := range []string{"firstTimestamp", "lastTimestamp", "eventTime"} {
		text := dicts.LookupString(payload, field)
		if _, err := time.Parse("2006-01-02T15:04:05.000000+00:00", text); err != nil {
			return nil, err
		}
		payload[field] = "<YYYY-MM-DDThh:mm:ss.ffffff+00:00>"
	}
	return dicts.Object{"url": string(path), "payload": payload}, nil
}

// refAsBody is a body with the parts of a reference.
func refAsBody(ref dicts.Object) dicts.Object {
	return dicts.Object{"apiVersion": ref["apiVersion"], "kind": ref["kind"], "metadata": ref}
}
