package endpoints

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/journals"
)

// writeTimeout is how long a client may take to receive a part of a log.
const writeTimeout = 30 * time.Second

// lookInterval is the interval in which a stream of an operator notices that the operator was
// removed.
const lookInterval = 5 * time.Second

// Record is a line of the answer: a record, or the number of records that are lost.
type Record struct {
	journals.Record
	Lost uint64 `json:"lost,omitempty"` // records before this one that the journal does not have any more
}

// logs sends the newest log records of an operator, as lines of JSON. With follow=true, it
// sends new ones until the operator is removed, the client disconnects or the host ends.
func (e *Endpoints) logs(w http.ResponseWriter, r *http.Request, key hosting.Key) {
	journal, err := e.source.Journal(key)
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	follow := r.URL.Query().Get("follow") == "true"
	if follow {
		select {
		case e.following <- struct{}{}:
			defer func() { <-e.following }()
		default:
			refuse(w, http.StatusServiceUnavailable, errors.New("too many clients follow logs; try again later"))
			return
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &stream{http.NewResponseController(w), json.NewEncoder(w)}
	_ = out.control.SetReadDeadline(time.Time{}) // the deadline is for the request, which has arrived
	var at uint64
	for out.begin() == nil {
		records, lost, changed := journal.After(at)
		for i, record := range records {
			line := Record{Record: record}
			if i == 0 && at > 0 {
				line.Lost = lost // what was before the first request is not missed
			}
			if out.Encode(line) != nil {
				return
			}
			at = record.Number
		}
		if out.control.Flush() != nil || !follow || !e.wait(r, key, journal, changed) {
			return
		}
	}
}

// wait waits for the next record. It returns false if there will be none.
func (e *Endpoints) wait(r *http.Request, key hosting.Key, of *journals.Journal, changed <-chan struct{}) bool {
	if changed == nil {
		return true
	}
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-changed:
			return true
		case <-ticker.C:
			if now, err := e.source.Journal(key); err != nil || now != of {
				return false
			}
		case <-e.closing:
			return false
		case <-r.Context().Done():
			return false
		}
	}
}

// stream is an answer that may last long.
type stream struct {
	control *http.ResponseController
	*json.Encoder
}

// begin gives the client time for the next part.
func (s *stream) begin() error { return s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) }
