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

// decodeList decodes a listing while it arrives, and passes on its items one by one. It looks only for the ends of items, and each
// has a text of its own that is exactly as long: these texts are much of the garbage of a start.
//
// Errors: any response that is not a listing, even if it is JSON. An empty response does
// not mean that all objects are gone.
func decodeList(r io.Reader, item func(object []byte) error) (meta listMeta, err error) {
	t := newTexts(r)
	defer t.close()
	whole := false
	err = t.members('{', '}', func() error {
		key, err := t.key()
		if err != nil {
			return err
		}
		if key == "items" && t.peek() == '[' {
			whole = true
			return t.members('[', ']', func() error {
				object, err := t.value()
				if err != nil {
					return err
				}
				return item(object)
			})
		}
		value, err := t.value()
		if err != nil {
			return err
		}
		switch key {
		case "items": // null in an empty list
			whole = true
			if string(value) != "null" {
				return fmt.Errorf("%.100s where a list was expected", value)
			}
			return nil
		case "metadata":
			return json.Unmarshal(value, &meta)
		default:
			return json.Unmarshal(value, new(json.RawMessage))
		}
	})
	if err == nil && !whole && meta.ResourceVersion == "" {
		err = errNoListing
	}
	if err != nil {
		err = fmt.Errorf("a listing: %w", err)
	}
	return meta, err
}

var errNoListing = errors.New("it has neither items nor a version")

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
