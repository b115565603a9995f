// Package networks knows which addresses are public, and which lead to the machine, its link,
// its cloud or a private network. A name from someone else must not lead there.
package networks

import (
	"net/netip"
	"slices"
)

// network is a range of addresses that resolved names must not lead to.
type network struct {
	prefix string
	name   string
	source string // the document that reserves it
}

// These documents define several of the networks.
const (
	rfc1918 = "https://www.rfc-editor.org/rfc/rfc1918"
	rfc4291 = "https://www.rfc-editor.org/rfc/rfc4291"
	rfc5737 = "https://www.rfc-editor.org/rfc/rfc5737"
	rfc6890 = "https://www.rfc-editor.org/rfc/rfc6890"
)

// machineNetworks can lead to the machine itself, to its neighbours on the link, or to
// cloud services that return credentials.
var machineNetworks = []network{
	{"0.0.0.0/8", "this network", "https://www.rfc-editor.org/rfc/rfc1122#section-3.2.1.3"},
	{"127.0.0.0/8", "loopback", "https://www.rfc-editor.org/rfc/rfc1122#section-3.2.1.3"},
	{"169.254.0.0/16", "link-local; metadata of AWS, Azure, GCP, OpenStack and others", "https://www.rfc-editor.org/rfc/rfc3927"},
	{"224.0.0.0/4", "multicast", "https://www.rfc-editor.org/rfc/rfc5771"},
	{"255.255.255.255/32", "limited broadcast", "https://www.rfc-editor.org/rfc/rfc919"},
	{"168.63.129.16/32", "metadata of Azure (WireServer)", "https://learn.microsoft.com/en-us/azure/virtual-network/what-is-ip-address-168-63-129-16"},
	{"100.100.100.200/32", "metadata of Alibaba Cloud", "https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata"},
	{"100.96.0.96/32", "metadata of Volcengine", "https://github.com/volcengine/cello"},
	{"192.0.0.192/32", "metadata of Oracle Cloud (Classic)", "https://docs.oracle.com/en/cloud/iaas-classic/compute-iaas-cloud/stcsg/retrieving-instance-metadata.html"},

	{"::/128", "unspecified", rfc4291},
	{"::1/128", "loopback", rfc4291},
	{"fe80::/10", "link-local; metadata of OpenStack", rfc4291},
	{"fec0::/10", "site-local, deprecated", "https://www.rfc-editor.org/rfc/rfc3879"},
	{"ff00::/8", "multicast", rfc4291},
	{"fd00:ec2::/32", "metadata of AWS (::254), credentials of EKS (::23)", "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html"},
	{"fd20:ce::/32", "metadata of GCP (::254)", "https://cloud.google.com/compute/docs/metadata/querying-metadata"},
	{"fd00:a9fe:a9fe::/48", "metadata of Akamai (::1)", "https://docs.cloud-init.io/en/latest/reference/datasources/akamai.html"},
	{"fd00:100::/32", "metadata of Alibaba Cloud (::100:200)", "https://github.com/canonical/cloud-init/blob/main/cloudinit/sources/DataSourceAliYun.py"},
	{"fd00:c1::/32", "metadata of Oracle Cloud (::a9fe:a9fe)", "https://github.com/oracle/oci-python-sdk/blob/master/src/oci/auth/signers/instance_principals_security_token_signer.py"},
	{"fd00:42::/32", "metadata of Scaleway (::42)", "https://docs.cloud-init.io/en/latest/reference/datasources/scaleway.html"},

	// IPv4 in IPv6: the target of a translator or a tunnel is not known here. Mapped
	// addresses, and those of translatedNetwork, are judged by the IPv4 address that they
	// contain.
	{"::/96", "IPv4-compatible, deprecated", rfc4291 + "#section-2.5.5.1"},
	{"::ffff:0:0:0/96", "IPv4-translated", "https://www.rfc-editor.org/rfc/rfc2765#section-2.1"},
	{"64:ff9b:1::/48", "IPv4 by a local translator", "https://www.rfc-editor.org/rfc/rfc8215"},
	{"2001::/32", "Teredo", "https://www.rfc-editor.org/rfc/rfc4380"},
	{"2002::/16", "6to4, deprecated", "https://www.rfc-editor.org/rfc/rfc7526"},
}

// privateNetworks are not public: a pattern of names does not allow them.
var privateNetworks = []network{
	{"10.0.0.0/8", "private", rfc1918},
	{"172.16.0.0/12", "private", rfc1918},
	{"192.168.0.0/16", "private", rfc1918},
	{"100.64.0.0/10", "shared by customers of a provider", "https://www.rfc-editor.org/rfc/rfc6598"},
	{"192.0.0.0/24", "assignments of protocols", rfc6890},
	{"192.0.2.0/24", "documentation", rfc5737},
	{"198.51.100.0/24", "documentation", rfc5737},
	{"203.0.113.0/24", "documentation", rfc5737},
	{"192.88.99.0/24", "relays of 6to4, deprecated", "https://www.rfc-editor.org/rfc/rfc7526"},
	{"198.18.0.0/15", "benchmarks", "https://www.rfc-editor.org/rfc/rfc2544"},
	{"240.0.0.0/4", "reserved", "https://www.rfc-editor.org/rfc/rfc1112#section-4"},

	{"2001::/23", "assignments of protocols", rfc6890},
	{"2001:db8::/32", "documentation", "https://www.rfc-editor.org/rfc/rfc3849"},
	{"3fff::/20", "documentation", "https://www.rfc-editor.org/rfc/rfc9637"},
}

var (
	// publicNetwork holds all public IPv6 addresses that are assigned so far.
	//
	// See https://www.iana.org/assignments/ipv6-address-space
	publicNetwork = netip.MustParsePrefix("2000::/3")

	// translatedNetwork holds public IPv4 addresses in its last four bytes. Clusters that
	// have only IPv6 reach IPv4 through it.
	//
	// See https://www.rfc-editor.org/rfc/rfc6052#section-3.1
	translatedNetwork = netip.MustParsePrefix("64:ff9b::/96")
)

var machinePrefixes, privatePrefixes = prefixesOf(machineNetworks), prefixesOf(privateNetworks)

func prefixesOf(networks []network) []netip.Prefix {
	list := make([]netip.Prefix, len(networks))
	for i, n := range networks {
		list[i] = netip.MustParsePrefix(n.prefix)
	}
	return list
}

func isIn(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// isTunnel reports whether a is an ISATAP address: any network before 0:5efe or 200:5efe,
// followed by an IPv4 address.
//
// See https://www.rfc-editor.org/rfc/rfc5214#section-6.1
func isTunnel(a netip.Addr) bool {
	b := a.As16()
	return a.Is6() && b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// translated returns the IPv4 address in an address of translatedNetwork.
func translated(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:])), translatedNetwork.Contains(a)
}

// IsOfMachine reports whether an address belongs to the machine, its link or its cloud.
func IsOfMachine(a netip.Addr) bool {
	if v4, ok := translated(a); ok {
		return !IsPublic(v4) // the prefix is for public IPv4 addresses only
	}
	return isIn(machinePrefixes, a) || isTunnel(a)
}

// IsPublic reports whether an address can be reached from everywhere in the internet.
func IsPublic(a netip.Addr) bool {
	if v4, ok := translated(a); ok {
		return IsPublic(v4)
	}
	return !IsOfMachine(a) && !isIn(privatePrefixes, a) && (a.Is4() || publicNetwork.Contains(a))
}
