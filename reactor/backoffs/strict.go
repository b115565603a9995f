package backoffs

import (
	"bytes"
	"encoding/json"
)

// strict decodes the object form and rejects unknown fields.
func strict(data []byte) (object, error) {
	var o object
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&o)
	return o, err
}
