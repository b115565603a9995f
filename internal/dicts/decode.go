package dicts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Decode parses one JSON document. Numbers stay text (json.Number).
// Anything but blanks after the document is an error.
func Decode(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var doc any
	if err := decoder.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("invalid JSON: the text is empty")
		}
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("invalid JSON: unexpected text after offset %d", decoder.InputOffset())
	}
	return doc, nil
}

// DecodeObject is Decode for documents that must be objects (ErrNotObject).
func DecodeObject(raw []byte) (Object, error) {
	doc, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	obj, ok := doc.(Object)
	if !ok {
		return nil, fmt.Errorf("%w but %s", ErrNotObject, kindOf(doc))
	}
	return obj, nil
}
