package stores_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

// recordings are the results of testdata/record.py with the real Kopf.
type recordings struct {
	Blake2b    map[string]string
	Objects    map[string]json.RawMessage
	Record     json.RawMessage
	Diffbases  []diffBaseRecording
	Progresses []progressRecording
}

type diffBaseRecording struct {
	Config  json.RawMessage
	Object  string
	Extra   []any
	Essence json.RawMessage
	Patch   json.RawMessage
	Fetched json.RawMessage
}

type progressRecording struct {
	Config  json.RawMessage
	Object  string
	ID      string
	Fetched json.RawMessage
	Store   json.RawMessage
	Purge   json.RawMessage
	Touch   json.RawMessage
	Untouch json.RawMessage
	Cleared json.RawMessage
}

func loadRecordings(t *testing.T) recordings {
	t.Helper()
	raw, err := os.ReadFile("testdata/kopf.json")
	if err != nil {
		t.Fatal(err)
	}
	var r recordings
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// object decodes a new copy of the object, so that tests cannot disturb each other.
func (r recordings) object(t *testing.T, name string) stores.Object {
	t.Helper()
	return decode(t, r.Objects[name]).(stores.Object)
}

func decode(t *testing.T, raw []byte) any {
	t.Helper()
	doc, err := dicts.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// sameDocument compares documents including all texts in them, byte for byte.
func sameDocument(t *testing.T, what string, want json.RawMessage, got any) {
	t.Helper()
	if diff := cmp.Diff(string(dicts.Encode(decode(t, want))), string(dicts.Encode(got))); diff != "" {
		t.Errorf("%s (-kopf +ours):\n%s", what, diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDiffBasesAreThoseOfKopf(t *testing.T) {
	r := loadRecordings(t)
	for i, recorded := range r.Diffbases {
		t.Run(fmt.Sprintf("%d %s of %s with %v", i, recorded.Config, recorded.Object, recorded.Extra), func(t *testing.T) {
			storage, err := stores.NewDiffBase(recorded.Config)
			must(t, err)
			var extra []stores.Path
			for _, spec := range recorded.Extra {
				path, err := dicts.ParsePath(spec)
				must(t, err)
				extra = append(extra, path)
			}
			body := r.object(t, recorded.Object)
			essence, err := storage.Build(body, extra)
			must(t, err)
			patch := &stores.Patch{}
			must(t, storage.Store(body, patch, essence))
			fetched, err := storage.Fetch(body)
			must(t, err)

			sameDocument(t, "essence", recorded.Essence, essence)
			sameDocument(t, "patch", recorded.Patch, patch.Object())
			sameDocument(t, "fetched", recorded.Fetched, dicts.OrNil(fetched))
			sameDocument(t, "the body afterwards", r.Objects[recorded.Object], body)
		})
	}
}

func TestProgressesAreThoseOfKopf(t *testing.T) {
	r := loadRecordings(t)
	record, err := stores.DecodeRecord(decode(t, r.Record))
	must(t, err)
	now := "now"
	for i, recorded := range r.Progresses {
		t.Run(fmt.Sprintf("%d %s of %s for %s", i, recorded.Config, recorded.Object, recorded.ID), func(t *testing.T) {
			storage, err := stores.NewProgress(recorded.Config)
			must(t, err)
			body := r.object(t, recorded.Object)
			store, purge, touch, untouch := &stores.Patch{}, &stores.Patch{}, &stores.Patch{}, &stores.Patch{}
			must(t, storage.Store(recorded.ID, *record, body, store))
			must(t, storage.Purge(recorded.ID, body, purge))
			must(t, storage.Touch(body, touch, &now))
			must(t, storage.Touch(body, untouch, nil))
			must(t, storage.Flush())
			cleared, err := storage.Clear(dicts.CloneObject(body))
			must(t, err)
			fetched, err := storage.Fetch(body, recorded.ID)
			must(t, err)
			wanted, err := recordOrNil(decode(t, recorded.Fetched))
			must(t, err)

			sameDocument(t, "store", recorded.Store, store.Object())
			sameDocument(t, "purge", recorded.Purge, purge.Object())
			sameDocument(t, "touch", recorded.Touch, touch.Object())
			sameDocument(t, "untouch", recorded.Untouch, untouch.Object())
			sameDocument(t, "cleared", recorded.Cleared, cleared)
			sameDocument(t, "the body afterwards", r.Objects[recorded.Object], body)
			if diff := cmp.Diff(wanted, fetched); diff != "" {
				t.Errorf("fetched (-kopf +ours):\n%s", diff)
			}
		})
	}
}

func recordOrNil(doc any) (*stores.Record, error) {
	if doc == nil {
		return nil, nil
	}
	return stores.DecodeRecord(doc)
}

// TestSuffixesAreThoseOfPython compares the hash in cut names, by which Kopf finds its annotations again.
func TestSuffixesAreThoseOfPython(t *testing.T) {
	altered := strings.NewReplacer("+", "-", "/", ".", "=", "")
	for text, digest := range loadRecordings(t).Blake2b {
		sum, err := hex.DecodeString(digest)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.TrimRight("-"+altered.Replace(base64.StdEncoding.EncodeToString(sum)), "-.")
		if got := stores.KeySuffix(text); got != want {
			t.Errorf("of %d bytes: got %s, want %s", len(text), got, want)
		}
	}
}
