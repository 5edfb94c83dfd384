package serve

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ffff::/48")}
	const direct, proxy = "192.0.2.1:1234", "10.0.0.9:1234"
	for _, c := range []struct {
		name, peer        string
		listed, forwarded []string
		want              string
	}{
		{"no proxy", direct, nil, nil, "192.0.2.1"},
		{"a stranger says who he is", direct, []string{"198.51.100.1"}, []string{"for=198.51.100.1"}, "192.0.2.1"},
		{"IPv6 with a port", "[2001:db8::1]:80", nil, nil, "2001:db8::1"},
		{"IPv4 in IPv6", "[::ffff:192.0.2.1]:80", nil, nil, "192.0.2.1"},
		{"a proxy that says nothing", proxy, nil, nil, "10.0.0.9"},
		{"one hop", proxy, []string{"198.51.100.7"}, nil, "198.51.100.7"},
		{"the client's own entry is not believed", proxy, []string{"203.0.113.9, 198.51.100.7"}, nil, "198.51.100.7"},
		{"two proxies", proxy, []string{"198.51.100.7, 10.0.0.8"}, nil, "198.51.100.7"},
		{"several lines are one list", proxy, []string{"198.51.100.7", "10.0.0.8"}, nil, "198.51.100.7"},
		{"a client inside", proxy, []string{"10.1.1.1, 10.0.0.8"}, nil, "10.1.1.1"},
		{"nonsense", proxy, []string{"198.51.100.7, unknown"}, nil, ""},
		{"empty", proxy, []string{""}, nil, ""},
		{"Forwarded", proxy, nil, []string{`for=198.51.100.7;proto=https;by=10.0.0.9`}, "198.51.100.7"},
		{"Forwarded IPv6", proxy, nil, []string{`For="[2001:db8::7]:4711"`}, "2001:db8::7"},
		{
			"Forwarded, two hops",
			proxy,
			nil,
			[]string{`for=203.0.113.9, for=198.51.100.7, for="[2001:db8:ffff::1]"`},
			"198.51.100.7",
		},
		{"Forwarded, hidden", proxy, nil, []string{"for=_hidden"}, ""},
		{
			"a proxy that quotes the Host of a stranger",
			proxy,
			nil,
			[]string{`for=198.51.100.1;host="a,for=203.0.113.7"`},
			"198.51.100.1",
		},
		{"the same with a quote in it", proxy, nil, []string{`for=198.51.100.1;host="a\",for=203.0.113.7"`}, "198.51.100.1"},
		{"a quoted semicolon", proxy, nil, []string{`host="a;for=203.0.113.7";for=198.51.100.1`}, "198.51.100.1"},
		{
			"a stranger's open quote before the proxy's entry",
			proxy,
			nil,
			[]string{`for=203.0.113.7;host="a, for=198.51.100.1`},
			"",
		},
		{"the same on a line of its own", proxy, nil, []string{`for=203.0.113.7;host="a`, `for=198.51.100.1`}, ""},
		{"a quote that swallows the proxy's", proxy, nil, []string{`for=203.0.113.7;host="a, for="[2001:db8::1]"`}, ""},
		{"for twice", proxy, nil, []string{`for=203.0.113.7;For=198.51.100.1`}, ""},
		{"half a quote", proxy, nil, []string{`for=198.51.100.1"`}, ""},
		{"a port without quotes", proxy, nil, []string{`for=198.51.100.1:80`}, ""},
		{"a port with quotes", proxy, nil, []string{`for="198.51.100.1:80"`}, "198.51.100.1"},
		{"an escape", proxy, nil, []string{`for="198\.51.100.1"`}, "198.51.100.1"},
		{"IPv6 without brackets", proxy, nil, []string{`for="2001:db8::7"`}, ""},
		{"half a bracket", proxy, []string{"198.51.100.1]"}, nil, ""},
		{"no value", proxy, nil, []string{`for=`}, ""},
		{"no name", proxy, nil, []string{`for=198.51.100.1;=a`}, ""},
		{
			"spaces after semicolons",
			proxy,
			nil,
			[]string{`for=198.51.100.1; proto=https ;by=10.0.0.9 , for=10.0.0.8`},
			"198.51.100.1",
		},
		{"empty entries of a list", proxy, nil, []string{`, for=198.51.100.1,,`}, "198.51.100.1"},
		{"nothing", proxy, nil, []string{``}, ""},
		{"Forwarded without for", proxy, nil, []string{"proto=https"}, ""},
		{"both agree", proxy, []string{"198.51.100.7"}, []string{"for=198.51.100.7"}, "198.51.100.7"},
		{"the proxy passed on a forged Forwarded", proxy, []string{"198.51.100.7"}, []string{"for=10.0.0.1"}, ""},
		{"the proxy passed on a forged X-Forwarded-For", proxy, []string{"10.0.0.1"}, []string{"for=198.51.100.7"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
			if c.listed != nil {
				r.Header["X-Forwarded-For"] = c.listed
			}
			if c.forwarded != nil {
				r.Header["Forwarded"] = c.forwarded
			}
			var want netip.Addr
			if c.want != "" {
				want = netip.MustParseAddr(c.want)
			}
			if got := ClientAddress(trusted)(r); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
