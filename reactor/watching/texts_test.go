package watching

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// Items are cut out as they are, wherever the reads of the listing end, and each has memory of its own.
func TestItemsOfListings(t *testing.T) {
	long := fmt.Sprintf(`{"metadata":{"name":"long"},"text":%q}`, strings.Repeat(`}{][,"\`, lineBuffer))
	want := []string{
		`{"metadata":{"name":"a"},"text":"}],\"\\"}`, `{"list":[[],{},[{"a":[1,2]}],"]"] , "n":-1.5e3}`, `{}`, long, `{"metadata":{"name":"after"}}`,
	}
	text := `{"kind":"L", "apiVersion":"v1","items" : [` + "\n" + strings.Join(want, " ,\n") + ` ] ,"metadata":{"resourceVersion":"5"}}` + "\n"
	for name, reader := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "bytes": iotest.OneByteReader, "with the end": iotest.DataErrReader,
	} {
		var items [][]byte
		meta, err := decodeList(reader(strings.NewReader(text)), func(object []byte) error {
			items = append(items, object)
			return nil
		})
		if err != nil || meta.ResourceVersion != "5" {
			t.Fatalf("%s: %v, %+v", name, err, meta)
		}
		for i, item := range items {
			if diff := cmp.Diff(want[i], string(item)); diff != "" {
				t.Errorf("%s: item %d (-want +got):\n%s", name, i, diff)
			}
		}
		if len(items) != len(want) {
			t.Errorf("%s: %d items", name, len(items))
		}
	}
}

// A listing that the API server has not written whole, or not at all, is an error.
func TestBrokenListings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"items":[{"a":1}{"b":2}]}`, `{"items":[{"a":1},]}`, `{"items":[,{"a":1}]}`, `{"items":{"a":1}}`, `{"items":"x"}`, `{"items":nul}`,
		`{"items":[{"a":1}],,"metadata":{}}`, `{"items":[{"a":1}] "metadata":{}}`, `{"items" [{"a":1}]}`, `{items:[]}`, `{"items":[],"metadata":{]}}`,
		`{"items":[],"other":{]}}`, `{"items":[],"other":tru}`, `{"items":[],"metadata":7}`, `{"items":[],}`, `{"items":[}`, `{"items":[1`, `{"items"`, `{"items":[{"a":"`,
	} {
		if _, err := decodeList(strings.NewReader(text), func(object []byte) error { return json.Unmarshal(object, new(any)) }); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// A value that never ends does not fill the memory.
func TestEndlessItem(t *testing.T) {
	t.Parallel()
	endless := io.MultiReader(strings.NewReader(`{"items":[{"a":"`), endlessText{})
	if _, err := decodeList(endless, func([]byte) error { return nil }); err == nil || !strings.Contains(err.Error(), errLongItem.Error()) {
		t.Errorf("the error is %v", err)
	}
}

type endlessText struct{}

func (endlessText) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Listings are read as encoding/json reads them.
func FuzzListing(f *testing.F) {
	f.Add([]byte(`{"kind":"L","items":[{"a":1},{"b":[{}]}],"metadata":{"resourceVersion":"5","continue":"c"}}`))
	f.Add([]byte(`{"items":[{"a":"\"]}"} , null, [1,2],-5, "x"],"metadata":null}`))
	f.Add([]byte(`{"items":null,"metadata":{"resourceVersion":"5"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var members map[string]json.RawMessage
		var want, items []json.RawMessage
		meta, err := decodeList(bytes.NewReader(text), func(object []byte) error {
			items = append(items, object)
			return json.Unmarshal(object, new(json.RawMessage)) // as the stream does
		})
		if err != nil || json.Unmarshal(text, &members) != nil {
			return // what follows a listing is not read
		}
		if bytes.Count(text, []byte("items")) > 1 || bytes.Count(text, []byte("metadata")) > 1 || bytes.Contains(text, []byte(`\u`)) {
			return // the last one of several counts for encoding/json
		}
		var wantMeta listMeta
		if json.Unmarshal(members["metadata"], &wantMeta) != nil && members["metadata"] != nil || members["items"] != nil && json.Unmarshal(members["items"], &want) != nil {
			t.Fatalf("%s: no error", text)
		}
		if len(want) != len(items) || wantMeta != meta {
			t.Fatalf("%s: %d items and %+v, want %d and %+v", text, len(items), meta, len(want), wantMeta)
		}
		for i := range want {
			if !bytes.Equal(want[i], items[i]) {
				t.Errorf("%s: item %d is %s, want %s", text, i, items[i], want[i])
			}
		}
	})
}

// BenchmarkListing measures what one object of a listing allocates on its way to the sink, with pages of 500 objects, without the connection and
// what is kept of the object.
func BenchmarkListing(b *testing.B) {
	for _, size := range []int{600, 10_000} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			text := fmt.Sprintf(`{"apiVersion":"kopf.dev/v1","kind":"K","metadata":{"creationTimestamp":"2026-11-25T22:00:00Z","name":"obj-00001","namespace":"default","resourceVersion":"1000001","uid":"6f1b44a1-3c55-4e21-9a0b-000000000001"},"spec":{"text":%q}}`, strings.Repeat(`value" `, size/7))
			items := strings.Repeat(","+text, 500)[1:]
			p := &pager{pages: map[string]string{"": page("", items)}}
			stream := paged(p)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for n := 0; n < b.N; n += 500 {
				p.queries = nil
				if _, err := stream.pages(b.Context(), stream.read, func() {}, func(Event) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
