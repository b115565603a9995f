package journals

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
)

func TestNewestRecordsAreKept(t *testing.T) {
	j := &Journal{}
	log := zerolog.New(j)
	log.Error().Err(errors.New("of old\nforged")).Msg("first.")
	for i := range 1000 {
		log.Info().Str("n", strings.Repeat("x", 1000)).Msg(fmt.Sprint(i))
	}
	records, lost, _ := j.After(0)
	if len(records) < 10 || len(records) > 100 || int(lost)+len(records) != 1001 || records[len(records)-1].Text() != "999" {
		t.Errorf("%d records are kept and %d lost; the last one is %q", len(records), lost, records[len(records)-1].Text())
	}
	if all := j.Errors(); len(all) != 1 || all[0].Text() != `first: of old\nforged` {
		t.Errorf("errors %+v", all)
	}
	if next, lost, changed := j.After(records[len(records)-1].Number); len(next) > 0 || lost > 0 || changed == nil {
		t.Errorf("after the end: %v, %d lost", next, lost)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	j := &Journal{}
	log := zerolog.New(j)
	for i := range 100 {
		log.Error().Msg(fmt.Sprint(i))
	}
	if all := j.Errors(); len(all) != maxErrors || all[0].Text() != "95" {
		t.Errorf("%d errors are kept: %+v", len(all), all)
	}
}

func TestLongRecordsAreCut(t *testing.T) {
	j := &Journal{}
	log := zerolog.New(j)
	log.Info().Str("junk", strings.Repeat("x", 1<<20)).Msg(strings.Repeat("y", 1<<20))
	records, _, _ := j.After(0)
	var fields map[string]any
	if len(records) != 1 || len(records[0].Fields) > maxRecord || json.Unmarshal(records[0].Fields, &fields) != nil || fields["level"] != "info" {
		t.Errorf("%d records, %v", len(records), len(fields))
	}
}

// TestReadersWaitForRecords: a reader gets each record once, in order.
func TestReadersWaitForRecords(t *testing.T) {
	j := &Journal{}
	log := zerolog.New(j)
	const all = 200
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range all {
			log.Info().Msg(fmt.Sprint(i))
		}
	})
	var at uint64
	for at < all {
		records, lost, changed := j.After(at)
		if lost > 0 {
			t.Fatalf("%d records are lost", lost)
		}
		for _, r := range records {
			if r.Text() != fmt.Sprint(at) {
				t.Fatalf("got %q after %d", r.Text(), at)
			}
			at = r.Number
		}
		if changed != nil {
			<-changed
		}
	}
	writing.Wait()
}
