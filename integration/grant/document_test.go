package grant_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/integration/grant"
	"kartei/kit/egress"
	"kartei/kit/i18n"
)

const documentID = "https://example.com/client.json"

// publisher is an HTTP server for the documents of example.com. It counts the requests.
type publisher struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	came   int
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.came++
		answer := p.answer
		p.mu.Unlock()
		answer(w, r)
	}))
	p.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that refuse its certificate cause log lines
	p.StartTLS()
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.came
}

// options lets a guard connect to the publisher.
func (p *publisher) options() egress.Options {
	to := netip.MustParseAddrPort(p.Listener.Addr().String())
	roots := x509.NewCertPool()
	roots.AddCert(p.Certificate())
	return egress.Options{
		Allow: []netip.Prefix{netip.PrefixFrom(to.Addr(), 32)},
		Roots: roots,
		Dial:  []egress.Mapping{{Host: "example.com", To: to}},
	}
}

func says(header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		if header != "" {
			w.Header().Set("Cache-Control", header)
		}
		io.WriteString(w, body)
	}
}

func described(more string) string {
	return fmt.Sprintf(`{"client_id":%q,"client_name":"Fristen\u202ekalender","redirect_uris":["https://app.example/cb","vscode://x","javascript:alert(1)","http://localhost/callback"],"logo_uri":"https://app.example/x"%s}`, documentID, more)
}

// TestDocumentNames checks which URLs are accepted as the client_id of a document.
func TestDocumentNames(t *testing.T) {
	d := grant.NewDocuments(egress.New(egress.Options{}), nil, "https://kartei.example:8443")
	for name, good := range map[string]bool{
		documentID: true, "https://example.com:443/a/b": true, "https://example.com/a?b=c": true,
		"https://EXAMPLE.com/a": true,
		"https://example.com":   false, "https://example.com/": false, "http://example.com/a": false,
		"https://example.com:8443/a": false, "https://example.com:/a": false,
		"https://u@example.com/a": false, "https://u:p@example.com/a": false, "https://example.com/a#b": false,
		"https://example.com/a#":     false,
		"https://example.com/a/../b": false, "https://example.com/./b": false, "https://example.com/%2e%2e/b": false,
		"https://example.com/a\\b": false,
		"https://exаmple.com/a":    false, "https://example.com/a b": false, "https:///a": false,
		"https:example.com/a": false, "https://example.com/" + strings.Repeat("a", 1000): false,
		"https://kartei.example/a": false, "https://KARTEI.example/oauth/token": false,
	} {
		if err := d.Check(name); (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
	}
	some := grant.NewDocuments(egress.New(egress.Options{}), []string{"example.com"}, "https://kartei.example")
	if some.Check("https://Example.com/a") != nil || some.Check("https://a.example.com/a") == nil ||
		some.Check("https://example.com.evil.test/a") == nil {
		t.Error("the list of hosts is not kept")
	}
}

// TestDocument checks the clients of valid documents, and that other documents are refused.
func TestDocument(t *testing.T) {
	p := newPublisher(t)
	d := grant.NewDocuments(egress.New(p.options()), nil, "https://kartei.example")
	t.Cleanup(d.Close)
	for control, use := range map[string]time.Duration{
		"": 5 * time.Minute, "max-age=3600": time.Hour, "public, Max-Age=7200, immutable": 2 * time.Hour,
		"max-age=1": 5 * time.Minute, "max-age=99999999999": 24 * time.Hour,
		"max-age=9999999999999999999": 5 * time.Minute, "max-age=-1": 5 * time.Minute,
		"max-age=3600, no-store": 5 * time.Minute, "max-age=x": 5 * time.Minute,
	} {
		p.answer = says(control, described(""))
		c, got, err := d.Read(t.Context(), documentID)
		if err != nil || got != use {
			t.Fatalf("%s: %v %v", control, got, err)
		}
		if c.Kind != grant.ByDocument || c.ClientID != documentID || c.Name != "Fristenkalender" || !c.Public() ||
			!slices.Equal(c.RedirectURIs, []string{"https://app.example/cb", "vscode://x", "http://localhost/callback"}) {
			t.Errorf("%+v", c)
		}
		if !c.Redirects("http://localhost:53076/callback") || c.Redirects("vscode://y") ||
			c.Redirects("http://127.0.0.1/callback") {
			t.Error("people are sent elsewhere than the document says")
		}
	}
	const unread, malformed, another, noAddress = "could not be read", "malformed", "that of another", "no address"
	for what, c := range map[string]struct {
		want   string
		answer http.HandlerFunc
	}{
		"a redirect": {unread, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, documentID+"?again", http.StatusFound)
		}},
		"nothing":    {unread, http.NotFound},
		"no content": {unread, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
		"an end":     {unread, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"a page": {
			unread, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>"+described("")) },
		},
		"too much":     {unread, says("", described(`,"x":"`+strings.Repeat("x", 5<<10)+`"`))},
		"a cut one":    {malformed, says("", described("")[1:])},
		"a list":       {malformed, says("", `["`+documentID+`"]`)},
		"another case": {another, says("", strings.Replace(described(""), "client.json", "Client.json", 1))},
		"another path": {another, says("", strings.Replace(described(""), "client.json", "client.json/", 1))},
		"no name":      {another, says("", `{"redirect_uris":["https://app.example/cb"]}`)},
		"a secret":     {"prove itself", says("", described(`,"token_endpoint_auth_method":"client_secret_basic"`))},
		"a key": {
			"prove itself",
			says("", described(`,"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["private_key_jwt"]`)),
		},
		"other addresses": {
			noAddress,
			says("", `{"client_id":"`+documentID+`","redirect_uris":["ms-settings://x","javascript:alert(1)"]}`),
		},
		"our name": {
			"calls itself Kartei",
			says("", strings.Replace(described(""), `Fristen\u202ekalender`, `K\u0430rtei.`, 1)),
		},
		"no addresses": {noAddress, says("", `{"client_id":"`+documentID+`"}`)},
	} {
		p.answer = c.answer
		_, _, err := d.Read(t.Context(), documentID)
		if why := (*grant.DocumentError)(nil); !errors.As(err, &why) || !strings.Contains(why.Why.In(i18n.English), c.want) ||
			why.Why.In(i18n.German) == why.Why.In(i18n.English) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	// A server that does not respond makes the person wait for the timeout only.
	d.SetTimeout(20 * time.Millisecond)
	p.answer = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	if _, _, err := d.Read(t.Context(), documentID); err == nil || !strings.Contains(err.Error(), "Timeout") {
		t.Errorf("%v", err)
	}
}

// TestDocumentChoice checks a document whose client prefers authentication by a key, as ChatGPT
// does. The client is accepted, because it also supports no authentication.
func TestDocumentChoice(t *testing.T) {
	p := newPublisher(t)
	p.answer = says("", described(`,"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["private_key_jwt","none"]`))
	d := grant.NewDocuments(egress.New(p.options()), nil, "https://kartei.example")
	t.Cleanup(d.Close)
	if c, _, err := d.Read(t.Context(), documentID); err != nil || c.Method != grant.NoSecret {
		t.Errorf("%+v %v", c, err)
	}
}

// TestDocumentInside checks documents that a stranger must not make the instance fetch. Their
// server runs but receives no request.
func TestDocumentInside(t *testing.T) {
	p := newPublisher(t)
	p.answer = says("", described(""))
	open := p.options()
	for what, o := range map[string]egress.Options{
		"an address that is not public": {Roots: open.Roots, Dial: open.Dial},
		"another certificate":           {Allow: open.Allow, Dial: open.Dial},
	} {
		d := grant.NewDocuments(egress.New(o), nil, "https://kartei.example")
		_, _, err := d.Read(t.Context(), documentID)
		why := (*grant.DocumentError)(nil)
		if !errors.As(err, &why) || strings.Contains(why.Why.In(i18n.English)+why.Why.In(i18n.German), "127.0.0.1") {
			t.Errorf("%s: %v", what, err)
		}
		d.Close()
	}
	if p.count() != 0 {
		t.Errorf("%d requests came", p.count())
	}
}

// TestDocumentTogether checks that concurrent calls fetch a document once while its server is slow.
// This also holds if the first caller gives up.
func TestDocumentTogether(t *testing.T) {
	p := newPublisher(t)
	d := grant.NewDocuments(egress.New(p.options()), nil, "https://kartei.example")
	t.Cleanup(d.Close)
	arrived, answer := make(chan struct{}), make(chan struct{})
	p.answer = func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-answer
		says("", described(""))(w, r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, _, err := d.Read(ctx, documentID)
		first <- err
	}()
	<-arrived
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for range 20 {
		if _, _, err := d.Read(ctx, documentID); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	last := make(chan error)
	go func() {
		_, _, err := d.Read(t.Context(), documentID)
		last <- err
	}()
	select {
	case answer <- struct{}{}:
	case <-arrived:
		t.Fatal("it is read a second time")
	}
	select {
	case err := <-last:
		if err != nil || p.count() > 2 { // the last call may have started after the response
			t.Errorf("%v after %d requests", err, p.count())
		}
	case <-arrived:
		answer <- struct{}{}
		<-last
	}
}
