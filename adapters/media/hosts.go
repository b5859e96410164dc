package media

import (
	"net"
	"net/url"
	"strings"
)

// named reports whether an address may be asked: it is on one of the hosts that
// were named, carries no credentials of its own, and is safe on its way.
func (s Source) named(at *url.URL) bool {
	if at.User != nil || at.Opaque != "" || at.Scheme != "https" && at.Scheme != "http" {
		return false
	}
	for _, host := range s.Hosts {
		if fits(host, at) && (at.Scheme == "https" || private(host)) {
			return true
		}
	}
	return false
}

// fits reports whether an address is on a named host.
func fits(host string, at *url.URL) bool {
	host, have := strings.ToLower(host), strings.ToLower(at.Host)
	if at.Scheme == "https" {
		have = strings.TrimSuffix(have, ":443")
	}
	if strings.HasPrefix(host, ".") {
		return len(have) > len(host) && strings.HasSuffix(have, host)
	}
	return have == host
}

// private reports whether a host was named as a port of this machine, where
// nobody listens in.
func private(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil || port == "" {
		return false
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
