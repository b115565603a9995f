package recordings

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// leastSecret is the length of the shortest secret: shorter texts occur everywhere.
const leastSecret = 6

// redaction replaces secrets by their names, or the other way round. It is safe for concurrent
// use.
type redaction struct {
	mu       sync.Mutex // guards the fields below
	secrets  map[string]string
	size     int                // of their values, in bytes
	last     map[string]int     // the last number of a name
	known    map[[2]string]bool // names and values
	full     bool               // there are secrets that are not known
	hidden   matcher
	restorer *strings.Replacer // of all secrets; nil: it is not made yet
}

// Bounds of the secrets of a recording: guests choose how many headers with secrets they send.
const (
	maxSecrets    = 10_000
	maxSecretSize = 16 << 20 // of all together, in bytes
)

// newRedaction replaces the values of some secrets by name.
func newRedaction(secrets map[string]string) *redaction {
	r := &redaction{secrets: map[string]string{}, last: map[string]int{}, known: map[[2]string]bool{}, hidden: matcher{}}
	for name, value := range secrets {
		r.add(name, value)
	}
	return r
}

// placeholder stands for a secret that is the content of so many JSON strings.
func placeholder(name string, depth int) string {
	if depth == 0 {
		return fmt.Sprintf("[redacted:%s]", name)
	}
	return fmt.Sprintf("[redacted:%s:%d]", name, depth)
}

// maxDepth is how deep texts are JSON in JSON.
const maxDepth = 3

// forms are pairs of the forms in which a secret occurs, and of their placeholders.
func forms(name, value string) []string {
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	pairs := []string{encoded, base64.StdEncoding.EncodeToString([]byte(placeholder(name, 0)))}
	known, same := map[string]bool{}, []string{value}
	for depth := range maxDepth + 1 {
		var next []string
		for _, form := range same {
			if known[form] {
				continue
			}
			known[form] = true
			pairs = append(pairs, form, placeholder(name, depth))
			next = append(next, escaped(form)...)
		}
		same = next
	}
	return pairs
}

// escaped is a text as the content of a JSON string, as encoders write it: that of Go, first, escapes HTML; others do not; that of
// Python writes ASCII only.
func escaped(value string) []string {
	quoted, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	html := string(quoted[1 : len(quoted)-1])
	plain := strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(html)
	var ascii strings.Builder
	for _, c := range plain {
		switch {
		case c < utf8.RuneSelf:
			ascii.WriteRune(c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&ascii, `\u%04x`, c)
		}
	}
	return []string{html, plain, ascii.String()}
}

// add adds a secret. A name that has another value already gets a number: tokens are renewed.
func (r *redaction) add(name, value string) {
	if len(value) < leastSecret {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name = strings.Map(func(c rune) rune {
		if strings.ContainsRune(`[]:"\`, c) {
			return '_'
		}
		return c
	}, name)
	if r.known[[2]string{name, value}] {
		return
	}
	if len(r.secrets) >= maxSecrets || r.size+len(value) > maxSecretSize {
		r.full = true
		return
	}
	free := name
	for _, taken := r.secrets[free]; taken; _, taken = r.secrets[free] {
		r.last[name] = max(r.last[name], 1) + 1
		free = fmt.Sprintf("%s#%d", name, r.last[name])
	}
	r.secrets[free] = value
	all := forms(free, value)
	for i := 0; i < len(all); i += 2 {
		r.hidden.add(all[i], all[i+1])
	}
	r.known[[2]string{name, value}] = true
	r.size += len(value)
}

// isFull reports whether there are secrets that it does not know, so that nothing more may be written.
func (r *redaction) isFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

// names lists the secrets.
func (r *redaction) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.secrets))
}

// hide replaces the secrets in the values of a document by their names. Keys stay: a secret may
// be a usual word.
func (r *redaction) hide(line string) string {
	var out strings.Builder
	for line != "" {
		begin := strings.IndexByte(line, '"')
		if begin < 0 {
			break
		}
		end := begin + 1 + endOfString(line[begin+1:])
		out.WriteString(line[:begin])
		if text := line[begin:end]; strings.HasPrefix(line[end:], ":") {
			out.WriteString(text)
		} else {
			out.WriteString(r.replace(text))
		}
		line = line[end:]
	}
	out.WriteString(line)
	return out.String()
}

// endOfString returns the length of a JSON string from behind its first quote, with its last one.
func endOfString(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// replace replaces the secrets in a text by their names.
func (r *redaction) replace(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hidden.replace(text)
}

// restore replaces the names by the secrets. No secret is added any more.
func (r *redaction) restore(line string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.restorer == nil {
		var flat []string
		for name, value := range r.secrets {
			all := forms(name, value)
			for i := 0; i < len(all); i += 2 {
				flat = append(flat, all[i+1], all[i])
			}
		}
		r.restorer = strings.NewReplacer(flat...)
	}
	return r.restorer.Replace(line)
}

// secretWords are parts of the names of headers whose values are secrets: X-Vault-Token, X-Api-Key, Proxy-Authorization, Set-Cookie.
// An Idempotency-Key is none: it may be the uid of an object.
var secretWords = []string{"authorization", "cookie", "api-key", "apikey", "access-key", "password", "secret", "token"}

// learn finds the secrets in a message: values of Secrets of Kubernetes, and of headers.
func (r *redaction) learn(m *message) {
	for _, raw := range [][]byte{m.Body, m.Value} {
		r.learnJSON(raw)
	}
	if m.Answer != nil && m.Answer.Response != nil {
		r.learnJSON(m.Answer.Response.Body)
		r.learnHeaders(m.Answer.Response.Headers)
	}
	call := m.Call
	if m.Step != nil {
		call = m.Step.Call
	}
	if call != nil {
		r.learnCall(call)
	}
}

func (r *redaction) learnCall(call *abi.Call) {
	r.learnJSON(call.Body)
	r.learnHeaders(call.Headers)
}

func (r *redaction) learnHeaders(headers map[string][]string) {
	for name, values := range headers {
		name = strings.ToLower(name)
		if !slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) }) {
			continue
		}
		for _, value := range values {
			if strings.HasSuffix(name, "cookie") {
				for pair := range strings.SplitSeq(value, ";") { // also the attributes of Set-Cookie, such as a path
					_, cookie, _ := strings.Cut(pair, "=")
					r.add("header/"+name, strings.Trim(cookie, ` "`))
				}
				continue
			}
			_, token, isToken := strings.Cut(value, " ")
			if !isToken {
				token = value
			}
			r.add("header/"+name, token)
		}
	}
}

func (r *redaction) learnJSON(raw []byte) {
	if !bytes.Contains(raw, []byte(`"Secret`)) {
		return
	}
	value, err := dicts.Decode(raw)
	if err != nil {
		return
	}
	text, ok := value.(string)
	if !ok {
		r.learnObjects(value)
		return
	}
	if value, err = dicts.Decode([]byte(text)); err == nil { // the body of a verbatim call
		r.learnObjects(value)
		return
	}
	for event := range strings.Lines(text) { // the answer to a watch
		if value, err = dicts.Decode([]byte(event)); err == nil {
			r.learnObjects(value)
		}
	}
}

// learnObjects finds Secrets in a document.
func (r *redaction) learnObjects(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			r.learnObjects(item)
		}
	case dicts.Object:
		switch value["kind"] {
		case "Secret":
			r.learnSecret(value)
		case "SecretList": // its items have no kind
			items, _ := value["items"].([]any)
			for _, item := range items {
				if object, ok := item.(dicts.Object); ok {
					r.learnSecret(object)
				}
			}
		}
		for _, item := range value {
			r.learnObjects(item)
		}
	}
}

func (r *redaction) learnSecret(object dicts.Object) {
	prefix := strings.Join([]string{"secret", dicts.LookupString(object, "metadata", "namespace"), dicts.LookupString(object, "metadata", "name"), ""}, "/")
	r.learnData(prefix, object)
	for _, item := range dicts.LookupObject(object, "metadata", "annotations") { // some keep former states of the whole object
		text, _ := item.(string)
		if value, err := dicts.Decode([]byte(text)); err == nil {
			former, _ := value.(dicts.Object)
			r.learnData(prefix, former)
		}
	}
}

func (r *redaction) learnData(prefix string, object dicts.Object) {
	for key, item := range dicts.LookupObject(object, "data") {
		encoded, _ := item.(string)
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			r.add(prefix+key, string(decoded))
		}
	}
	for key, item := range dicts.LookupObject(object, "stringData") {
		plain, _ := item.(string)
		r.add(prefix+key, plain)
	}
}
