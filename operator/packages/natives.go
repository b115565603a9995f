package packages

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// optional are distributions whose native code only makes them faster: without it, they use
// their code in Python. The names are normal.
var optional = map[string]bool{
	"aiohttp": true, "charset-normalizer": true, "coverage": true, "frozenlist": true, "markupsafe": true, "msgpack": true,
	"multidict": true, "propcache": true, "protobuf": true, "pyrsistent": true, "python-box": true, "pyyaml": true, "simplejson": true, "sqlalchemy": true,
	"tomli": true, "tornado": true, "websockets": true, "wrapt": true, "yarl": true, "zope-interface": true,
}

// dispensable are native distributions that other ones require and use in a few functions
// only, or do without, with the paths of their modules. They are left out if another distribution requires them.
var dispensable = map[string][]string{
	"backports-zstd": {"backports/zstd"}, "brotli": {"brotli", "_brotli"}, "cffi": {"cffi", "_cffi_backend"}, "cryptography": {"cryptography"}, "pycares": {"pycares"},
}

// advice says what to use in place of distributions that are native code.
var advice = map[string]string{
	"backports-zstd":   "remove it: the host decompresses responses",
	"brotli":           "remove it: the host decompresses responses",
	"pycares":          "remove it: the host resolves names",
	"bcrypt":           "use hashlib.pbkdf2_hmac of the standard library",
	"cffi":             "it loads native code for other packages: use packages in plain Python",
	"cryptography":     "it has no form in plain Python: let the API server or another service sign and encrypt; hashes are in hashlib and hmac; the package google-auth needs it in its newest versions, and not in google-auth<2.48",
	"grpcio":           "it has no form in plain Python: call the service by HTTP and JSON",
	"jsonschema-rs":    "use jsonschema<4.18, which is plain Python",
	"kopf":             "the package kopf is a part of the engine: remove it from the requirements",
	"lxml":             "use xml.etree.ElementTree of the standard library",
	"numpy":            "it has no form in plain Python: use lists, and the modules statistics, math and array of the standard library",
	"orjson":           "use json of the standard library",
	"pandas":           "it has no form in plain Python: use csv, and lists of dictionaries",
	"psutil":           "the sandbox has no processes",
	"psycopg2":         "the sandbox has no sockets: reach the database by HTTP",
	"psycopg2-binary":  "the sandbox has no sockets: reach the database by HTTP",
	"pydantic-core":    "use pydantic<2, which is plain Python, or dataclasses; the package kubernetes requires it in its newest versions, and not in kubernetes<32, which needs google-auth<2.48",
	"python-rapidjson": "use json of the standard library",
	"regex":            "use re of the standard library",
	"rpds-py":          "use jsonschema<4.18, which is plain Python",
	"ruamel-yaml-clib": "remove it from the requirements: ruamel.yaml works without it",
	"ujson":            "use json of the standard library",
	"uvloop":           "remove it: the sandbox has the event loop of asyncio",
	"watchfiles":       "the sandbox has no files to watch",
	"xxhash":           "use hashlib.blake2b of the standard library",
	"google-crc32c":    "use zlib.crc32, or remove the package that requires it",
	"scipy":            "it has no form in plain Python",
	"httptools":        "remove it: the sandbox has no sockets",
	"argon2-cffi":      "use hashlib.pbkdf2_hmac of the standard library",
	"pynacl":           "it has no form in plain Python",
	"greenlet":         "the sandbox has no threads: use asyncio",
	"gevent":           "the sandbox has no sockets: use asyncio",
	"confluent-kafka":  "the sandbox has no sockets: reach the service by HTTP",
	"pycryptodome":     "it has no form in plain Python: hashes are in hashlib and hmac",
	"msgspec":          "use json and dataclasses of the standard library",
	"pyarrow":          "it has no form in plain Python",
	"pillow":           "it has no form in plain Python",
	"mypy":             "it is a tool of developers: remove it from the requirements",
	"black":            "it is a tool of developers: remove it from the requirements",
	"ruff":             "it is a tool of developers: remove it from the requirements",
	"debugpy":          "it is a tool of developers: remove it from the requirements",
	"setproctitle":     "the sandbox has no processes",
}

// adviceFor says what to do about a native distribution.
func adviceFor(name string) string {
	if text := advice[name]; text != "" {
		return text
	}
	return "only packages in plain Python work: look for a pure-Python alternative, or an older version that is one (a wheel …-py3-none-any.whl)"
}

// isNative reports whether a file is native code: an extension module, or a library.
func isNative(name string) bool {
	switch path.Ext(name) {
	case ".so", ".pyd", ".dylib", ".dll", ".a", ".lib":
		return true
	}
	return strings.Contains(path.Base(name), ".so.")
}

var separators = regexp.MustCompile(`[-_.]+`)

// normal returns the form in which names of distributions are compared: PEP 503.
func normal(name string) string { return strings.ToLower(separators.ReplaceAllString(name, "-")) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
