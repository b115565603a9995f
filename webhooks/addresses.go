package webhooks

import (
	"net"
	"net/url"
	"strconv"
)

// accessible turns a listen address into an address that clients can connect to. It replaces
// an address of all interfaces by the address of one interface.
func accessible(addr string) string {
	ip := net.ParseIP(addr)
	switch {
	case addr == "":
		return "localhost"
	case ip == nil || !ip.IsUnspecified():
		return addr
	case ip.To4() != nil:
		return "127.0.0.1"
	}
	return "::1"
}

// buildURL omits the default port of the scheme.
func buildURL(scheme, host string, port int, path string) string {
	netloc := net.JoinHostPort(host, strconv.Itoa(port))
	if scheme == "http" && port == 80 || scheme == "https" && port == 443 {
		netloc = host
		if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
			netloc = "[" + host + "]"
		}
	}
	target := url.URL{Scheme: scheme, Host: netloc, Path: path}
	return target.String()
}
