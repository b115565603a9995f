package stores

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/blake2b"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// maxName is the maximum number of characters after the prefix and the slash of an
// annotation's key.
const maxName = 63

// suffixEncoding is base64 with the characters that annotation keys allow.
var suffixEncoding = base64.NewEncoding(
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.").WithPadding(base64.NoPadding)

// Naming creates annotation keys from handler ids. There are two versions of keys, which
// differ for long ids only: V2 uses the whole length for the name, V1 for the prefix and the
// name together.
//
// Kopf: kopf._cogs.configs.conventions.StorageKeyFormingConvention.
type Naming struct {
	prefix string
	v1     bool
}

// NewNaming returns a Naming with the prefix, for the version V2 and optionally V1. The API
// server refuses the keys of long names if the prefix has more than 189 characters.
func NewNaming(prefix string, v1 bool) (Naming, error) {
	if prefix == "" {
		return Naming{}, errors.New("storages in annotations need a prefix")
	}
	return Naming{prefix: prefix, v1: v1}, nil
}

// Keys lists the annotations of an id on an object. All are written, and the first existing
// one is read. A nil body skips the adjustment for the object's kind.
func (n Naming) Keys(id string, body Object) []string {
	if isReplicaSetOfDeployment(body) {
		// Kubernetes copies annotations of deployments to their replica sets, which would
		// take them for their own state.
		id += "-ofDRS"
	}
	if n.agrees(id) {
		return []string{n.prefix + "/" + id}
	}
	keys := []string{n.V2Key(id)}
	if v1 := n.V1Key(id); n.v1 && v1 != keys[0] {
		keys = append(keys, v1)
	}
	return keys
}

// agrees reports whether both versions use the id unchanged. Few ids are long or have
// characters that annotations do not allow.
func (n Naming) agrees(id string) bool {
	if len(id) > maxName-len(n.prefix)-1 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; c >= utf8.RuneSelf || c == '/' || c == '<' || c == '>' {
			return false
		}
	}
	return true
}

// fixedKeys are the keys of one id, which do not depend on the object except for its kind.
type fixedKeys struct{ usual, copied []string }

// copying is a body whose annotations Kubernetes has copied: see Keys.
var copying = Object{"kind": "ReplicaSet", "metadata": Object{"ownerReferences": []any{Object{"kind": "Deployment"}}}}

// fixed returns the keys of an id for all objects.
func (n Naming) fixed(id string) fixedKeys {
	return fixedKeys{usual: n.Keys(id, nil), copied: n.Keys(id, copying)}
}

// of returns the keys for an object. The caller must not change them.
func (k fixedKeys) of(body Object) []string {
	if isReplicaSetOfDeployment(body) {
		return k.copied
	}
	return k.usual
}

// V1Key returns the key whose length limit includes the prefix.
func (n Naming) V1Key(id string) string {
	safe := SafeKey(id)
	room := maxName - utf8.RuneCountInString(n.prefix) - 1
	suffix := ""
	if utf8.RuneCountInString(safe) > room {
		suffix = KeySuffix(safe)
	}
	return n.prefix + "/" + cut(safe, room-len(suffix)) + suffix
}

// V2Key returns the key whose length limit excludes the prefix.
func (n Naming) V2Key(id string) string {
	suffix := ""
	if utf8.RuneCountInString(id) > maxName {
		suffix = KeySuffix(id)
	}
	return n.prefix + "/" + cut(SafeKey(id), maxName-len(suffix)) + suffix
}

// SafeKey replaces the characters of ids that annotations may not contain.
func SafeKey(id string) string { return safeKeys.Replace(id) }

var safeKeys = strings.NewReplacer("/", ".", "<", "_", ">", "_")

// suffixSize is the size of the hash of a name, in bytes. The size is a parameter of
// BLAKE2b: a shorter hash is not a prefix of a longer one.
const suffixSize = 4

// KeySuffix makes cut names unique: a dash and a hash of the whole name. It ends with a
// letter or a digit, as Kubernetes requires.
func KeySuffix(id string) string {
	hash, err := blake2b.New(suffixSize, nil)
	if err != nil {
		panic(err) // the size is a constant
	}
	hash.Write([]byte(id))
	return strings.TrimRight("-"+suffixEncoding.EncodeToString(hash.Sum(nil)), "-.")
}

// cut returns the first characters of a text. As in Python's slices, a negative size (for
// very long prefixes) removes characters from the end.
func cut(text string, size int) string {
	runes := []rune(text)
	if size < 0 {
		size = max(0, len(runes)+size)
	}
	return string(runes[:min(size, len(runes))])
}

func isReplicaSetOfDeployment(body Object) bool {
	if body["kind"] != "ReplicaSet" {
		return false
	}
	value, _ := dicts.Lookup(body, "metadata", "ownerReferences")
	owners, _ := value.([]any)
	for _, owner := range owners {
		if dicts.LookupString(owner, "kind") == "Deployment" {
			return true
		}
	}
	return false
}
