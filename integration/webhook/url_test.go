package webhook

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"kartei/kit/egress"
	"kartei/kit/fault"
)

func TestURLs(t *testing.T) {
	for raw, stored := range map[string]string{
		"https://hooks.example.com/kartei":                 "",
		"https://hooks.example.com":                        "",
		"HTTPS://Hooks.Example.COM/Kartei":                 "",
		"https://hooks.example.com:443/":                   "",
		"https://hooks.example.com/a?token=b&c=%20d":       "",
		"https://hooks.example.com/ä?ö=ü":                  "https://hooks.example.com/%C3%A4?%C3%B6=%C3%BC",
		"https://hooks.example.com/a\u202eb?\u2066=\u0085": "https://hooks.example.com/a%E2%80%AEb?%E2%81%A6=%C2%85",
		"https://müller.example/ß%2f?ß":                    "https://xn--mller-kva.example/%C3%9F%2f?%C3%9F",
		"https://8.8.8.8/hook":                             "",
		"https://[2a00:1450:4001:80b::200e]:443/hook":      "",
		"https://hooks.localhost.example/":                 "",
		"https://local.example/":                           "",
		"https://xn--mller-kva.example/":                   "",
		"https://3com.example/":                            "",
		"https://a.b--c.example/":                          "",
		"https://müller.example/hook?x=1":                  "https://xn--mller-kva.example/hook?x=1",
		"https://MÜLLER.example:443/hook":                  "https://xn--mller-kva.example:443/hook",
		"https://hooks。example/":                           "https://hooks.example/",
		"https://８.８.８.８/":                                 "https://8.8.8.8/",
		"https://e.example/" + strings.Repeat("a", 2030):   "",
	} {
		if stored == "" {
			stored = raw
		}
		got, err := CheckURL(raw, nil)
		if err != nil || got != stored {
			t.Errorf("%.60s: %.80s, %v; want %.80s", raw, got, err, stored)
		}
		if again, err := CheckURL(got, nil); err != nil || again != got {
			t.Errorf("%.60s is stored as %.60s and then as %.60s, %v", raw, got, again, err)
		}
	}
}

var badURLs = []string{
	"", "hook", "/hook", "//hooks.example.com/", "https:", "https:/", "https://", "https:///hook",
	"https:hooks.example.com", "https:/hooks.example.com/",
	"http://hooks.example.com/", "ftp://hooks.example.com/", "javascript://hooks.example.com/%0a",
	"file:///etc/passwd", "wss://hooks.example.com/",
	"https://hooks.example.com:80/", "https://hooks.example.com:8443/", "https://hooks.example.com:/",
	"https://hooks.example.com:0443/", "https://hooks.example.com:65979/",
	"https://user@hooks.example.com/", "https://user:pass@hooks.example.com/", "https://@hooks.example.com/",
	"https://:@hooks.example.com/",
	"https://hooks.example.com/#", "https://hooks.example.com/#a", "https://hooks.example.com#a",
	" https://hooks.example.com/", "https://hooks.example.com/ ", "https://hooks.example.com/a b",
	"https://hooks.example.com/\n", "https://hooks.example.com\\@10.0.0.1/", "https://hooks.example.com/\x00",
	"https://hooks.example.com/\x7f",
	"https://127.0.0.1/", "https://10.0.0.1/", "https://169.254.169.254/latest/meta-data/", "https://0.0.0.0/",
	"https://100.64.0.1/", "https://192.0.2.1/", "https://224.0.0.1/", "https://255.255.255.255/",
	"https://[::1]/", "https://[::]/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fd00::1]/",
	"https://[::ffff:127.0.0.1]/", "https://[::ffff:a00:1]/", "https://[64:ff9b::10.0.0.1]/",
	"https://[2002:7f00:1::]/", "https://[2001::1]/", "https://[2a00:1450:4001:80b::200e%25eth0]/", "https://[ff02::1]/",
	"https://127.1/", "https://127.0.1/", "https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1/",
	"https://0X7F.1/", "https://0177.0.0.1/", "https://017700000001/", "https://8.8.8.8./", "https://8.8.8.08/",
	"https://8.8.8/", "https://1.2.3.4.5/", "https://256.1.1.1/", "https://0x/", "https://a.0x/", "https://foo.1/",
	"https://１２７.０.０.１/", "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/", "https://127%2e0%2e0%2e1/",
	"https://%31%32%37.0.0.1/", "https://0x7f。1/",
	"https://localhost/hook", "https://intranet/hook", "https://INTRANET:443/", "https://a.localhost/",
	"https://nas.local/", "https://nas.LOCAL/", "https://db.internal/", "https://ｌｏｃａｌｈｏｓｔ/",
	"https://hooks..example/", "https://.example/", "https://hooks.example./", "https://-a.example/",
	"https://a-.example/", "https://a_b.example/", "https://a*.example/",
	"https://" + strings.Repeat("a", 64) + ".example/", "https://" + strings.Repeat("a.", 126) + "example/",
	"https://xn--a.example/\x80", "https://xn--0.example/", "https://ex\u00admple.example:8443/",
	"https://\u202e.example/", "https://a\u0000b.example/",
	"https://e.example/" + strings.Repeat("a", 2031), "https://müller.example/" + strings.Repeat("ä", 2000),
}

func TestURLsRefused(t *testing.T) {
	for _, raw := range badURLs {
		got, err := CheckURL(raw, nil)
		if !fault.Is(err, fault.WebhookURLInvalid) || got != "" {
			t.Errorf("%q: %q, %v", raw, got, err)
			continue
		}
		if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Name != "url" || f.Fields[0].Limit == nil {
			t.Errorf("%q: %+v", raw, f.Fields)
		}
	}
}

// TestURLsOfAllowedNetworks checks that a URL may contain an address of a network that the operator
// permits.
func TestURLsOfAllowedNetworks(t *testing.T) {
	g := egress.New(egress.Options{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Deny:  []netip.Prefix{netip.MustParsePrefix("8.8.8.0/24")},
	})
	for raw, want := range map[string]bool{
		"https://127.0.0.1/": true, "https://[::ffff:127.0.0.1]/": true, "https://10.0.0.1/": false,
		"https://8.8.8.8/": false, "https://127.1/": false,
	} {
		if _, err := CheckURL(raw, g); (err == nil) != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestURLsOfMappedNames checks that a name need not be public if the operator maps it to an
// address.
func TestURLsOfMappedNames(t *testing.T) {
	g := egress.New(egress.Options{
		Dial: []egress.Mapping{
			{Host: "hook", To: netip.MustParseAddrPort("127.0.0.1:8443")},
			{Host: "crm.local", To: netip.MustParseAddrPort("127.0.0.1:8443")},
		},
	})
	for raw, want := range map[string]bool{
		"https://hook/": true, "https://Hook/": true, "https://CRM.local/a": true, "https://other/": false,
		"https://nas.local/": false,
	} {
		if _, err := CheckURL(raw, g); (err == nil) != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// FuzzCheckURL checks that clients interpret an accepted URL as CheckURL does. The URL has https,
// port 443, no user info, and a public address or a name as its host.
func FuzzCheckURL(f *testing.F) {
	for _, raw := range badURLs {
		f.Add(raw)
	}
	f.Add("https://müller.example:443/a?b=c")
	f.Fuzz(func(t *testing.T, raw string) {
		stored, err := CheckURL(raw, nil)
		if err != nil {
			return
		}
		if again, err := CheckURL(stored, nil); err != nil || again != stored {
			t.Fatalf("%q is stored as %q and then as %q, %v", raw, stored, again, err)
		}
		request, err := http.NewRequest(http.MethodPost, stored, nil)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(stored)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || request.URL.Host != u.Host ||
			len(stored) > 4*maxURL {
			t.Fatalf("%q: %+v, %v", stored, u, err)
		}
		host, port, _ := strings.Cut(strings.TrimPrefix(u.Host, "["+u.Hostname()+"]"), ":")
		if port != "" && port != "443" {
			t.Fatalf("%q has port %s", stored, port)
		}
		if strings.ContainsFunc(host, func(r rune) bool { return r > 0x7e || strings.ContainsRune("%@/\\ ", r) }) {
			t.Fatalf("%q has host %q", stored, host)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && (*egress.Guard)(nil).Permit(a) != nil {
			t.Fatalf("%q leads to %s", stored, a)
		}
	})
}
