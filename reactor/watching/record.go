package watching

import "encoding/binary"

// Objects are the identities and versions of objects, by Meta.Key.
type Objects map[string]record

// record is a Meta without its key, in one string: a stream has one for each object of the
// cluster. It is three lengths and texts (namespace, name, and the time of creation if the
// object has no uid), and the version.
type record string

func newRecord(m Meta) record {
	created := m.CreationTimestamp
	if m.UID != "" {
		created = "" // only keys without a uid need it
	}
	out := make([]byte, 0, len(m.Namespace)+len(m.Name)+len(created)+len(m.ResourceVersion)+4)
	for _, text := range []string{m.Namespace, m.Name, created} {
		out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	}
	return record(append(out, m.ResourceVersion...))
}

// meta returns the Meta of the record with a key. It has no time of creation if it has a uid.
func (r record) meta(key string) Meta {
	var texts [3]string
	rest := string(r)
	for i := range texts {
		length, size := binary.Uvarint([]byte(rest[:min(len(rest), binary.MaxVarintLen64)]))
		end := size + int(length)
		texts[i], rest = rest[size:end], rest[end:]
	}
	m := Meta{Namespace: texts[0], Name: texts[1], CreationTimestamp: texts[2], ResourceVersion: rest}
	if m.Key() != key {
		m.UID = key
	}
	return m
}
