package watching

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// listMeta is the metadata of a listing.
type listMeta struct {
	ResourceVersion string `json:"resourceVersion"`
	Continue        string `json:"continue"`
}

// decodeList decodes a listing while it arrives, and passes on its items one by one.
//
// Errors: any response that is not a listing, even if it is JSON. An empty response does
// not mean that all objects are gone.
func decodeList(r io.Reader, item func(object []byte) error) (listMeta, error) {
	var meta listMeta
	bounded := &boundedReader{r: r, left: maxLine}
	dec := json.NewDecoder(bounded)
	if err := expect(dec, '{'); err != nil {
		return meta, err
	}
	whole := false
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return meta, fmt.Errorf("a listing: %w", err)
		}
		switch key {
		case "items":
			whole = true
			err = decodeItems(dec, func(object []byte) error {
				bounded.left = maxLine
				return item(object)
			})
		case "metadata":
			err = dec.Decode(&meta)
		default:
			err = dec.Decode(new(json.RawMessage))
		}
		if err != nil {
			return meta, fmt.Errorf("a listing: %w", err)
		}
	}
	if err := expect(dec, '}'); err != nil {
		return meta, err
	}
	if !whole && meta.ResourceVersion == "" {
		return meta, errNoListing
	}
	return meta, nil
}

var errNoListing = errors.New("a listing: it has neither items nor a version")

// boundedReader limits how much is read for one object.
type boundedReader struct {
	r    io.Reader
	left int
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongItem
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

var errLongItem = errors.New("an object in a listing is longer than 64 MiB")

func decodeItems(dec *json.Decoder, item func(object []byte) error) error {
	open, err := dec.Token()
	if err != nil || open == nil { // "items" is null in an empty list
		return err
	}
	for dec.More() {
		var object json.RawMessage
		if err := dec.Decode(&object); err != nil {
			return err
		}
		if err := item(object); err != nil {
			return err
		}
	}
	return expect(dec, ']')
}

func expect(dec *json.Decoder, want json.Delim) error {
	got, err := dec.Token()
	if err != nil {
		return fmt.Errorf("a listing: %w", err)
	}
	if got != want {
		return fmt.Errorf("a listing: %v where %v was expected", got, want)
	}
	return nil
}

// withType adds the apiVersion and kind that items of listings of built-in resources lack.
func withType(object []byte, apiVersion, kind string) []byte {
	inner := bytes.TrimLeft(object, " \n\t")
	if len(inner) == 0 || inner[0] != '{' {
		return object
	}
	out := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q`, kind, apiVersion)
	inner = bytes.TrimLeft(inner[1:], " \n\t")
	if len(inner) > 0 && inner[0] != '}' {
		out = append(out, ',')
	}
	return append(out, inner...)
}
