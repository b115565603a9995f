package image

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/kopf-wasm/kopf/scripts/release/archives"
)

// Authorities is where programs in Go look for the certificates of authorities.
const Authorities = "/etc/ssl/certs/ca-certificates.crt"

// system returns the files that the program expects of a system.
func system() ([]archives.Entry, error) {
	authorities, err := certificates()
	if err != nil {
		return nil, err
	}
	account := fmt.Sprintf("nonroot:x:%d:%[1]d:nonroot:/home/nonroot:/sbin/nologin\n", User)
	entries := append(parents("etc/ssl/certs"), parents("home/nonroot")...)
	entries[len(entries)-1].Owner = User
	return append(entries,
		archives.Entry{Path: "etc/passwd", Mode: 0o644, Content: []byte("root:x:0:0:root:/root:/sbin/nologin\n" + account)},
		archives.Entry{Path: "etc/group", Mode: 0o644, Content: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", User)},
		archives.Entry{Path: Authorities[1:], Mode: 0o644, Content: authorities},
		archives.Entry{Path: Cache[1:], Mode: fs.ModeDir | 0o755, Owner: User},
		archives.Entry{Path: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	), nil
}

// certificates returns the authorities that Mozilla trusts for web servers, in PEM, from a Go module whose checksum is in
// go.sum. Authorities that are trusted in part only are left out, because PEM cannot say so.
func certificates() ([]byte, error) {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	if text.Len() == 0 {
		return nil, errors.New("there are no authorities")
	}
	return text.Bytes(), nil
}

// parents are the folders of a path, from the first one to the path itself.
func parents(path string) []archives.Entry {
	var entries []archives.Entry
	at := ""
	for part := range strings.SplitSeq(path, "/") {
		at = strings.TrimPrefix(at+"/"+part, "/")
		entries = append(entries, archives.Entry{Path: at, Mode: fs.ModeDir | 0o755})
	}
	return entries
}
