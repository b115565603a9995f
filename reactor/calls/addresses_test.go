package calls

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// A granted name must not lead to addresses that were not granted.
func TestNamesDoNotLeadToTheMachineOrItsCloud(t *testing.T) {
	tests := []struct {
		address        string
		pattern, named bool // whether the address is allowed for a pattern, and for a name
	}{
		{"93.184.216.34", true, true},
		{"2606:2800:220:1::1", true, true},
		{"64:ff9b::5db8:d822", true, true}, // 93.184.216.34

		{"10.0.0.1", false, true},
		{"172.31.0.1", false, true},
		{"192.168.1.1", false, true},
		{"::ffff:10.0.0.1", false, true},
		{"fd12::1", false, true},
		{"100.64.0.1", false, true},
		{"192.0.0.1", false, true},
		{"198.18.0.1", false, true},
		{"203.0.113.1", false, true},
		{"240.0.0.1", false, true},
		{"2001:db8::1", false, true},
		{"4000::1", false, true},

		{"127.0.0.1", false, false},
		{"127.255.0.1", false, false},
		{"::1", false, false},
		{"0.0.0.0", false, false},
		{"0.1.2.3", false, false},
		{"::", false, false},
		{"fe80::1", false, false},
		{"fe80::1%eth0", false, false},
		{"fec0::1", false, false},
		{"feff::1", false, false},
		{"224.0.0.1", false, false},
		{"239.255.255.255", false, false},
		{"255.255.255.255", false, false},
		{"ff02::1", false, false},

		{"169.254.169.254", false, false}, // AWS, Azure, GCP, OpenStack
		{"169.254.170.2", false, false},   // AWS ECS
		{"169.254.170.23", false, false},  // AWS EKS
		{"168.63.129.16", false, false},   // Azure
		{"100.100.100.200", false, false}, // Alibaba
		{"192.0.0.192", false, false},     // Oracle
		{"fd00:ec2::254", false, false},   // AWS
		{"fd00:ec2::23", false, false},    // AWS EKS
		{"fd20:ce::254", false, false},    // GCP
		{"fd00:a9fe:a9fe::1", false, false},
		{"fd00:c1::a9fe:a9fe", false, false}, // Oracle
		{"fd00:100::100:200", false, false},  // Alibaba
		{"100.96.0.96", false, false},        // Volcengine
		{"fd00:42::42", false, false},

		{"::ffff:127.0.0.1", false, false},
		{"::ffff:169.254.169.254", false, false},
		{"::ffff:168.63.129.16", false, false},
		{"::127.0.0.1", false, false},
		{"::93.184.216.34", false, false},
		{"::ffff:0:7f00:1", false, false},
		{"64:ff9b::7f00:1", false, false},
		{"64:ff9b::a9fe:a9fe", false, false},
		{"64:ff9b::a00:1", false, false},
		{"64:ff9b::a83f:8110", false, false}, // 168.63.129.16
		{"64:ff9b:1::7f00:1", false, false},
		{"64:ff9b:1:fffe::1", false, false},
		{"2002:7f00:1::", false, false},
		{"2002:a9fe:a9fe::1", false, false},
		{"2001:0:1::1", false, false},
		{"2606:2800::5efe:7f00:1", false, false},
		{"2606:2800::200:5efe:a9fe:a9fe", false, false},
		{"fd12::5efe:7f00:1", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.address, func(t *testing.T) {
			a := netip.MustParseAddr(tt.address)
			if got := publicOnly.allows(a, nil); got != tt.pattern {
				t.Errorf("behind a pattern: %v", got)
			}
			if got := named.allows(a, nil); got != tt.named {
				t.Errorf("behind a name: %v", got)
			}
			if !literal.allows(a, nil) {
				t.Error("it cannot be granted")
			}
			if got := loopback.allows(a, nil); got != (a.IsLoopback() || a.Unmap().IsLoopback()) {
				t.Errorf("behind localhost: %v", got)
			}
		})
	}
}

// The addresses of the machine's own interfaces are read at the time of the connection.
func TestNamesDoNotLeadToInterfacesOfTheMachine(t *testing.T) {
	own := netip.MustParseAddr("93.184.216.34")
	for _, trusted := range []trust{publicOnly, named} {
		control := trusted.control("x.test", func() ([]netip.Addr, error) { return []netip.Addr{own}, nil })
		for address, allowed := range map[string]bool{"93.184.216.34:443": false, "[::ffff:93.184.216.34]:443": false, "93.184.216.35:443": true} {
			err := control("tcp", address, nil)
			if (err == nil) != allowed || err != nil && !strings.Contains(err.Error(), "belongs to the machine") {
				t.Errorf("trust %d, %s: %v", trusted, address, err)
			}
		}
		unknown := trusted.control("x.test", func() ([]netip.Addr, error) { return nil, errors.New("boo") })
		if err := unknown("tcp", "93.184.216.35:443", nil); err == nil {
			t.Error("a connection is made without a look at the interfaces")
		}
	}
}

// hop is a server that redirects according to its table of paths.
func hop(t *testing.T, seen *[]http.Header) (server *httptest.Server, redirects map[string]string) {
	t.Helper()
	redirects = map[string]string{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r.Header)
		if target, ok := redirects[r.URL.Path]; ok {
			http.Redirect(w, r, target, http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(server.Close)
	return server, redirects
}

// Headers of a guest go only to the first server, wherever a redirect leads.
func TestHeadersDoNotFollowRedirects(t *testing.T) {
	var seen []http.Header
	a, fromA := hop(t, &seen)
	b, fromB := hop(t, &seen)
	for _, tt := range []struct {
		name         string
		fromA, fromB map[string]string
		want         []bool // whether the secrets arrive at each hop
	}{
		{"within one server", map[string]string{"/": "/1", "/1": "/2"}, nil, []bool{true, true, true}},
		{"to another", map[string]string{"/": b.URL}, nil, []bool{true, false}},
		{"to another, and on within it", map[string]string{"/": b.URL}, map[string]string{"/": "/1", "/1": "/2"}, []bool{true, false, false, false}},
		{"there and back", map[string]string{"/": b.URL}, map[string]string{"/": a.URL + "/1"}, []bool{true, false, false}},
		{"there, back, and on within it", map[string]string{"/": b.URL, "/1": "/2"}, map[string]string{"/": a.URL + "/1"}, []bool{true, false, false, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen = nil
			clear(fromA)
			clear(fromB)
			for from, to := range tt.fromA {
				fromA[from] = to
			}
			for from, to := range tt.fromB {
				fromB[from] = to
			}
			call := get(a.URL + "/?token=secret")
			call.Headers = map[string][]string{
				"X-Api-Key": {"secret"}, "Authorization": {"secret"}, "Cookie": {"secret"}, "Www-Authenticate": {"secret"}, "Accept": {"text/plain"},
			}
			answer := caller(t, Options{Grants: grantsOf(t, a.URL, b.URL)}).Call(t.Context(), call, "", nil)
			if answer.Response == nil || len(seen) != len(tt.want) {
				t.Fatalf("got %+v after %d requests", answer, len(seen))
			}
			for i, header := range seen {
				secrets := 0
				for name := range header {
					if strings.Contains(header.Get(name), "secret") && name != "Referer" {
						secrets++
					}
				}
				if tt.want[i] && secrets != 4 || !tt.want[i] && (secrets != 0 || header.Get("Referer") != "") {
					t.Errorf("request %d has the headers %v", i+1, header)
				}
				if header.Get("Accept") != "text/plain" {
					t.Errorf("request %d accepts %q", i+1, header.Get("Accept"))
				}
			}
		})
	}
}

// TestConfinedNames: a name of a confined operator leads to public addresses only, unless the administrator has named it.
func TestConfinedNames(t *testing.T) {
	o := &Options{Confined: true, Grants: grantsOf(t, "http://mail.team.svc", "https://mail.team.svc", "http://db.team.svc", "*"), Private: grantsOf(t, "http://*.team.svc", "https://db.other.svc").Hosts}
	none := func() ([]netip.Addr, error) { return nil, nil }
	for _, tt := range []struct{ name, port, address, says string }{
		{"mail.team.svc", "80", "10.0.0.5", ""},
		{"db.team.svc", "80", "10.0.0.5", ""},
		{"mail.team.svc", "443", "10.0.0.5", "--allow-private-host"}, // another port
		{"mail.team.svc", "443", "93.184.216.34", ""},
		{"db.other.svc", "443", "10.0.0.5", "only a pattern covers the name"}, // the grant does not name it
		{"mail.team.svc", "80", "127.0.0.1", "belongs to the machine"},
		{"mail.team.svc", "443", "127.0.0.1", "belongs to the machine"},
	} {
		err := o.trustIn(tt.name, tt.port).control(tt.name, none)("tcp", net.JoinHostPort(tt.address, tt.port), nil)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s:%s at %s: %v, want %q", tt.name, tt.port, tt.address, err, tt.says)
		}
	}
	o.Confined = false
	if got := o.trustIn("mail.team.svc", "443"); got != named {
		t.Errorf("without confinement, the trust is %d", got)
	}
}
