package calls

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Host grants requests to an HTTP server.
type Host struct {
	Scheme string // https or http
	Name   string // a name, an address, *.example.com for all names below, or * for all
	Port   string
}

// ports are the default ports of the schemes.
var ports = map[string]string{"https": "443", "http": "80"}

// ParseHost parses a host of the form [SCHEME://]NAME[:PORT]. The scheme defaults to
// https, the port to the default port of the scheme.
func ParseHost(text string) (Host, error) {
	full := text
	if !strings.Contains(full, "://") {
		full = "https://" + full
	}
	parts, err := url.Parse(full)
	if err != nil || parts.User != nil || parts.Path != "" || parts.RawQuery != "" || parts.Fragment != "" {
		return Host{}, fmt.Errorf("%q: want a host like example.com, *.example.com, or http://localhost:8080", text)
	}
	host, err := hostOf(parts)
	if err != nil {
		return Host{}, fmt.Errorf("%q: %w", text, err)
	}
	rest := strings.TrimPrefix(host.Name, "*.")
	if slices.Contains(strings.Split(rest, "."), "") {
		return Host{}, fmt.Errorf("%q: a name with an empty label", text)
	}
	if host.Name != all && strings.Contains(rest, all) || host.Name == all && parts.Hostname() != all {
		return Host{}, fmt.Errorf("%q: a * can only stand for the first labels of a name, or for all names", text)
	}
	return host, nil
}

// hostOf returns the host of a URL in its canonical form.
func hostOf(u *url.URL) (Host, error) {
	port, known := ports[u.Scheme]
	if !known {
		return Host{}, fmt.Errorf("unknown scheme %q: want https or http", shown(u.Scheme))
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if !isASCII(u.Hostname()) { // some letters are those of one name in lower case, and of another one in Punycode
		return Host{}, fmt.Errorf("%q is not a host name in ASCII: write other letters as xn--", shown(u.Hostname()))
	}
	name := canonical(u.Hostname())
	if name == "" || strings.ContainsFunc(name, notInHosts) {
		return Host{}, fmt.Errorf("%q is not a host name", shown(u.Hostname()))
	}
	if _, err := netip.ParseAddr(name); err != nil && isNumber(name[strings.LastIndex(name, ".")+1:]) { // resolvers of systems take 127.1, 0x7f000001 and 2130706433 for addresses
		return Host{}, fmt.Errorf("%q is neither a host name nor an address", shown(u.Hostname()))
	}
	return Host{u.Scheme, name, port}, nil
}

// isNumber reports whether the last label of a name makes it an address, as in the URL Standard.
//
// See https://url.spec.whatwg.org/#ends-in-a-number-checker
func isNumber(label string) bool {
	digits := strings.Trim(label, "0123456789") == ""
	hex := strings.HasPrefix(label, "0x") && strings.Trim(label[2:], "0123456789abcdef") == ""
	return label != "" && (digits || hex)
}

func notInHosts(r rune) bool {
	return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune(".-_:*", r))
}

// canonical returns the one spelling of a name or an address.
func canonical(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if address, err := netip.ParseAddr(name); err == nil {
		return address.String()
	}
	return name
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// String returns the host in the form that ParseHost reads.
func (h Host) String() string {
	text := h.Name
	if strings.Contains(text, ":") {
		text = "[" + text + "]"
	}
	if h.Port != ports[h.Scheme] {
		text += ":" + h.Port
	}
	if h.Scheme != "https" {
		text = h.Scheme + "://" + text
	}
	return text
}

// isPattern reports whether the host is a wildcard, not a single name.
func (h Host) isPattern() bool { return strings.HasPrefix(h.Name, all) }

// covers reports whether h includes the other host.
func (h Host) covers(other Host) bool {
	if h.Scheme != other.Scheme || h.Port != other.Port {
		return false
	}
	return h.coversName(other.Name)
}

func (h Host) coversName(name string) bool {
	switch {
	case h.Name == all || h.Name == name:
		return true
	case h.isPattern():
		return strings.HasSuffix(name, h.Name[1:]) // name[1:] starts with the dot
	}
	return false
}
