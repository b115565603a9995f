package stores

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/blake2b"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// maxName is how many characters Kubernetes allows for the name of an annotation,
// that is, for what follows the prefix and the slash.
const maxName = 63

// suffixEncoding is base64 with characters that annotations may contain.
var suffixEncoding = base64.NewEncoding(
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.").WithPadding(base64.NoPadding)

// Naming makes annotations' keys of the ids of handlers. There are two versions
// of keys, which differ for long ids only: V2 uses the whole length for the name,
// V1 for the prefix and the name together.
//
// Kopf: kopf._cogs.configs.conventions.StorageKeyFormingConvention.
type Naming struct {
	prefix string
	v1     bool
}

// NewNaming makes keys with the prefix, in the version V2 and, if wanted, also
// in the version V1. A prefix of more than 189 characters leaves too little room
// for long names: the API server will refuse them.
func NewNaming(prefix string, v1 bool) (Naming, error) {
	if prefix == "" {
		return Naming{}, errors.New("storages in annotations need a prefix")
	}
	return Naming{prefix: prefix, v1: v1}, nil
}

// Keys lists the annotations that belong to an id on an object: all are written,
// the first that exists is read. Without an object (nil), the kind is not regarded.
func (n Naming) Keys(id string, body Object) []string {
	if isReplicaSetOfDeployment(body) {
		// Kubernetes copies annotations of deployments to their replica sets,
		// where they would be taken for the state of the replica sets.
		id += "-ofDRS"
	}
	keys := []string{n.V2Key(id)}
	if v1 := n.V1Key(id); n.v1 && v1 != keys[0] {
		keys = append(keys, v1)
	}
	return keys
}

// V1Key is the key with the prefix counted in.
func (n Naming) V1Key(id string) string {
	safe := SafeKey(id)
	room := maxName - utf8.RuneCountInString(n.prefix) - 1
	suffix := ""
	if utf8.RuneCountInString(safe) > room {
		suffix = KeySuffix(safe)
	}
	return n.prefix + "/" + cut(safe, room-len(suffix)) + suffix
}

// V2Key is the key with the prefix not counted in.
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

// suffixSize is how many bytes the hash of a name has. The size is a parameter of BLAKE2b: a
// shorter hash is not the beginning of a longer one.
const suffixSize = 4

// KeySuffix makes cut names unique: a dash and a hash of the whole name.
// As names must, it ends with a letter or a digit.
func KeySuffix(id string) string {
	hash, err := blake2b.New(suffixSize, nil)
	if err != nil {
		panic(err) // the size is a constant
	}
	hash.Write([]byte(id))
	return strings.TrimRight("-"+suffixEncoding.EncodeToString(hash.Sum(nil)), "-.")
}

// cut takes so many characters from the start, or, as Python's slices do, all
// but so many from the end if the number is negative (for very long prefixes).
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
