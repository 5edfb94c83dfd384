package sso_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"kartei/kit/clock"
	"kartei/people/sso"
	"kartei/test/ssotest"
	"kartei/test/waittest"
)

const callback = "https://kartei.example/signin/sso/callback"

func token() string { return rand.Text() }

// TestProvider checks a complete sign-in with a real provider.
func TestProvider(t *testing.T) {
	p := ssotest.Start(t, callback)
	client := p.Client(callback)
	sub := p.Add("ida@kanzlei.example", true)
	for _, fresh := range []bool{false, true} {
		address, asked, err := client.Ask(t.Context(), fresh, token)
		if err != nil {
			t.Fatal(err)
		}
		u, _ := url.Parse(address)
		q := u.Query()
		if q.Get("code_challenge_method") != "S256" || q.Get("nonce") != asked.Nonce || q.Get("state") != asked.State ||
			strings.Contains(address, asked.Verifier) {
			t.Errorf("%s", address)
		}
		if (q.Get("prompt") == "login" && q.Get("max_age") == "0") != fresh {
			t.Errorf("fresh %t: %s", fresh, address)
		}
		answer := ssotest.Answer(p.SignIn(address, "ida@kanzlei.example"))
		if !asked.Answers(answer) {
			t.Fatalf("%+v", answer)
		}
		is, err := client.Prove(t.Context(), asked, answer, true)
		now := clock.Now(clock.System)
		if is.AuthTime < asked.At.Add(-time.Second) || is.AuthTime > now {
			t.Errorf("signed in at %d, between %d and %d", is.AuthTime, asked.At, now)
		}
		is.AuthTime = 0
		if err != nil || is != (sso.Identity{
			Issuer: p.Issuer, Subject: sub, Email: "ida@kanzlei.example", Verified: true, Name: "Ida Anbieter",
		}) {
			t.Fatalf("%+v %v", is, err)
		}
		if _, err := client.Prove(t.Context(), asked, answer, false); !errors.Is(err, sso.ErrProof) {
			t.Errorf("a code was redeemed twice: %v", err)
		}
	}
}

// TestProviderRefuses checks that codes of other requests and other clients are refused.
func TestProviderRefuses(t *testing.T) {
	p := ssotest.Start(t, callback)
	p.Add("ida@kanzlei.example", true)
	client := p.Client(callback)
	way := func(c *sso.Provider) (sso.AuthRequest, sso.Answer) {
		address, asked, err := c.Ask(t.Context(), false, token)
		if err != nil {
			t.Fatal(err)
		}
		return asked, ssotest.Answer(p.SignIn(address, "ida@kanzlei.example"))
	}
	_, answer := way(client)
	other, _ := way(client)
	if _, err := client.Prove(t.Context(), other, answer, false); !errors.Is(err, sso.ErrProof) {
		t.Errorf("the verifier of another question: %v", err)
	}
	foreign := p.Client(callback, func(o *sso.Options) { o.ClientID = "other" })
	asked, answer := way(foreign)
	if _, err := client.Prove(t.Context(), asked, answer, false); !errors.Is(err, sso.ErrProof) {
		t.Errorf("a code of another client: %v", err)
	}
	wrong := p.Client(callback, func(o *sso.Options) { o.ClientSecret = "falsch" })
	asked, answer = way(wrong)
	if _, err := wrong.Prove(t.Context(), asked, answer, false); !errors.Is(err, sso.ErrProof) ||
		strings.Contains(err.Error(), answer.Code) {
		t.Errorf("a wrong secret: %v", err)
	}
	if answer.State = asked.State + "x"; asked.Answers(answer) || (sso.AuthRequest{}).Answers(sso.Answer{}) {
		t.Error("another state is taken")
	}
}

// forged signs in with a forged provider, and returns the result of Prove.
func forged(t *testing.T, f *ssotest.Forger, fresh bool) (sso.Identity, error) {
	t.Helper()
	return redeemed(t, f, f.Client(t, clock.System), fresh)
}

func redeemed(t *testing.T, f *ssotest.Forger, client *sso.Provider, fresh bool) (sso.Identity, error) {
	t.Helper()
	_, asked, err := client.Ask(t.Context(), fresh, token)
	if err != nil {
		return sso.Identity{}, err
	}
	f.Nonce = asked.Nonce
	return client.Prove(t.Context(), asked, sso.Answer{State: asked.State, Code: "c"}, true)
}

// TestForgedTokens checks that invalid ID tokens are refused. The first cases are valid tokens.
func TestForgedTokens(t *testing.T) {
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string, value any) func(map[string]any) {
		return func(c map[string]any) { c[name] = value }
	}
	unset := func(name string) func(map[string]any) { return func(c map[string]any) { delete(c, name) } }
	ago := func(d time.Duration) int64 { return time.Now().Add(-d).Unix() }
	none := func(header string) func([]byte) string {
		return func(c []byte) string {
			return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(c) + "."
		}
	}
	for name, c := range map[string]struct {
		claims func(map[string]any)
		sign   func(*ssotest.Forger) func([]byte) string
		fresh  bool
		want   error
	}{
		"a good one":        {},
		"a good one, fresh": {fresh: true},
		"a good one of two audiences": {
			claims: func(c map[string]any) { c["aud"], c["azp"] = []string{ssotest.ClientID, "x"}, ssotest.ClientID },
		},
		"an old sign-in that may be old": {claims: set("auth_time", ago(time.Hour))},
		"another nonce":                  {claims: set("nonce", "x"), want: sso.ErrProof},
		"no nonce":                       {claims: unset("nonce"), want: sso.ErrProof},
		"another issuer":                 {claims: set("iss", "https://evil.example"), want: sso.ErrProof},
		"another audience":               {claims: set("aud", "other"), want: sso.ErrProof},
		"two audiences, no party":        {claims: set("aud", []string{ssotest.ClientID, "other"}), want: sso.ErrProof},
		"another party":                  {claims: set("azp", "other"), want: sso.ErrProof},
		"expired":                        {claims: set("exp", ago(time.Minute)), want: sso.ErrProof},
		"not valid yet":                  {claims: set("nbf", ago(-time.Hour)), want: sso.ErrProof},
		"no subject":                     {claims: unset("sub"), want: sso.ErrProof},
		"a subject with NUL":             {claims: set("sub", "ida\x00"), want: sso.ErrProof},
		"a long subject":                 {claims: set("sub", strings.Repeat("i", 256)), want: sso.ErrProof},
		"an old sign-in":                 {claims: set("auth_time", ago(2*time.Minute)), fresh: true, want: sso.ErrNotRecent},
		"a sign-in of an unknown time":   {claims: unset("auth_time"), fresh: true, want: sso.ErrUnknownTime},
		"a sign-in in an hour":           {claims: set("auth_time", ago(-time.Hour)), fresh: true, want: sso.ErrUnknownTime},
		"a sign-in in milliseconds":      {claims: set("auth_time", 1000*ago(0)), fresh: true, want: sso.ErrUnknownTime},
		"a sign-in before 1970":          {claims: set("auth_time", -1e300), fresh: true, want: sso.ErrUnknownTime},
		"a sign-in at a word":            {claims: set("auth_time", "gestern"), fresh: true, want: sso.ErrUnknownTime},
		"a word that may be old":         {claims: set("auth_time", "gestern")},
		"a sign-in at a text":            {claims: set("auth_time", strconv.FormatInt(ago(0), 10)), fresh: true},
		"a foreign key": {sign: func(*ssotest.Forger) func([]byte) string {
			return func(c []byte) string { return ssotest.Signed(jose.RS256, foreign, c) }
		}, want: sso.ErrProof},
		"alg none": {sign: func(*ssotest.Forger) func([]byte) string { return none(`{"alg":"none"}`) }, want: sso.ErrProof},
		"alg None": {
			sign: func(*ssotest.Forger) func([]byte) string { return none(`{"alg":"None","kid":"1"}`) },
			want: sso.ErrProof,
		},
		"HS256 by the client's secret": {sign: func(*ssotest.Forger) func([]byte) string {
			return func(c []byte) string { return ssotest.Signed(jose.HS256, []byte(strings.Repeat(ssotest.Secret, 2)), c) }
		}, want: sso.ErrProof},
		"HS256 by the public key": {sign: func(f *ssotest.Forger) func([]byte) string {
			public, _ := x509.MarshalPKIXPublicKey(f.Key.Public())
			return func(c []byte) string { return ssotest.Signed(jose.HS256, public, c) }
		}, want: sso.ErrProof},
		"a changed token": {sign: func(f *ssotest.Forger) func([]byte) string {
			return func(c []byte) string {
				parts := strings.Split(ssotest.Signed(jose.RS256, f.Key, c), ".")
				parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(c), `"ida"`, `"jan"`, 1)))
				return strings.Join(parts, ".")
			}
		}, want: sso.ErrProof},
		"no token": {
			sign: func(*ssotest.Forger) func([]byte) string { return func([]byte) string { return "" } },
			want: sso.ErrProof,
		},
	} {
		f := ssotest.Forge(t)
		f.Claims = c.claims
		if c.sign != nil {
			f.Sign = c.sign(f)
		}
		is, err := forged(t, f, c.fresh)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if (is.Subject == "ida") != (c.want == nil) {
			t.Errorf("%s: %+v", name, is)
		}
	}
}

// TestAddress checks that the email address comes from the ID token or from the userinfo endpoint.
func TestAddress(t *testing.T) {
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, text)
		}
	}
	for name, c := range map[string]struct {
		token    map[string]any
		userinfo string
		verified bool
		want     error
	}{
		"verified":           {map[string]any{}, "", true, nil},
		"verified as a text": {map[string]any{"email_verified": "true"}, "", true, nil},
		"not verified":       {map[string]any{"email_verified": false}, "", false, nil},
		"nothing about it":   {map[string]any{"email_verified": nil}, "", false, nil},
		"a number":           {map[string]any{"email_verified": 1}, "", false, nil},
		"elsewhere": {
			map[string]any{"email": nil, "email_verified": nil},
			`{"sub":"ida","email":"ida@kanzlei.example","email_verified":true}`,
			true,
			nil,
		},
		"elsewhere, unverified": {map[string]any{"email": nil}, `{"sub":"ida","email":"ida@kanzlei.example"}`, false, nil},
		"somebody else's": {
			map[string]any{"email": nil},
			`{"sub":"jan","email":"ida@kanzlei.example","email_verified":true}`,
			false,
			sso.ErrProof,
		},
		"elsewhere, and no JSON": {map[string]any{"email": nil}, `<p>`, false, sso.ErrAway},
	} {
		f := ssotest.Forge(t)
		f.Claims = func(claims map[string]any) {
			for name, value := range c.token {
				claims[name] = value
			}
		}
		f.Answer["userinfo"] = answer(c.userinfo)
		is, err := forged(t, f, false)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || is.Verified != c.verified ||
			err == nil && is.Email != "ida@kanzlei.example" {
			t.Errorf("%s: %+v %v, want %t %v", name, is, err, c.verified, c.want)
		}
	}
}

// TestBrokenProvider checks providers that are unreachable, slow, send large responses or have
// wrong metadata.
func TestBrokenProvider(t *testing.T) {
	huge := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range 1 << 10 {
			if _, err := w.Write([]byte(strings.Repeat(" ", 1<<10))); err != nil {
				return
			}
		}
		io.WriteString(w, "{}")
	}
	fails := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }
	elsewhere := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	}
	say := func(name string, value any) func(*ssotest.Forger) {
		return func(f *ssotest.Forger) { f.Document = func(d map[string]any) { d[name] = value } }
	}
	at := func(endpoint string, h http.HandlerFunc) func(*ssotest.Forger) {
		return func(f *ssotest.Forger) { f.Answer[endpoint] = h }
	}
	for name, c := range map[string]struct {
		set  func(*ssotest.Forger)
		want error
	}{
		"another issuer":           {say("issuer", "https://evil.example"), sso.ErrAway},
		"a page without TLS":       {say("authorization_endpoint", "http://evil.example/auth"), sso.ErrAway},
		"a page with a quote":      {say("authorization_endpoint", `https://evil.example/"`), sso.ErrAway},
		"a script":                 {say("authorization_endpoint", "javascript:alert(1)"), sso.ErrAway},
		"tokens in the network":    {say("token_endpoint", "https://127.0.0.1:1/token"), sso.ErrAway},
		"metadata of the cloud":    {say("token_endpoint", "https://169.254.169.254/token"), sso.ErrAway},
		"keys without TLS":         {say("jwks_uri", "http://127.0.0.1:1/keys"), sso.ErrAway},
		"plain challenges":         {say("code_challenge_methods_supported", []string{"plain"}), sso.ErrAway},
		"answers without issuer":   {say("authorization_response_iss_parameter_supported", true), sso.ErrProof},
		"discovery fails":          {at("discovery", fails), sso.ErrAway},
		"discovery is huge":        {at("discovery", huge), sso.ErrAway},
		"discovery is elsewhere":   {at("discovery", elsewhere), sso.ErrAway},
		"the token endpoint fails": {at("token", fails), sso.ErrAway},
		"tokens are huge":          {at("token", huge), sso.ErrAway},
		"tokens are elsewhere":     {at("token", elsewhere), sso.ErrAway},
		"keys are huge":            {at("keys", huge), sso.ErrProof},
		"keys fail":                {at("keys", fails), sso.ErrProof},
	} {
		f := ssotest.Forge(t)
		c.set(f)
		if is, err := forged(t, f, false); !errors.Is(err, c.want) || is != (sso.Identity{}) {
			t.Errorf("%s: %+v %v, want %v", name, is, err, c.want)
		}
	}
	f := ssotest.Forge(t)
	f.Close()
	if _, err := forged(t, f, false); !errors.Is(err, sso.ErrAway) {
		t.Errorf("a provider that is away: %v", err)
	}
}

// TestSlowProvider checks that Prove ends with its context if a provider does not respond.
func TestSlowProvider(t *testing.T) {
	f := ssotest.Forge(t)
	client := f.Client(t, clock.System)
	_, asked, err := client.Ask(t.Context(), false, token)
	if err != nil {
		t.Fatal(err)
	}
	ctx, away := context.WithCancel(t.Context())
	f.Answer["token"] = func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // once the body is read, the server notices that the client has disconnected
		away()
		<-r.Context().Done()
	}
	if _, err := client.Prove(ctx, asked, sso.Answer{State: asked.State, Code: "c"}, false); !errors.Is(err, sso.ErrAway) {
		t.Errorf("%v", err)
	}
}

// TestDiscovery checks that the metadata are fetched once an hour. After a failed fetch, they are
// fetched again after some seconds. If the provider fails later, the known metadata are used.
func TestDiscovery(t *testing.T) {
	f := ssotest.Forge(t)
	c := clock.NewFake(time.Now())
	client := f.Client(t, c)
	ask := func() error { _, _, err := client.Ask(t.Context(), false, token); return err }
	f.Answer["discovery"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
	for range 3 {
		if err := ask(); !errors.Is(err, sso.ErrAway) {
			t.Fatal(err)
		}
	}
	if n := f.Asked("discovery"); n != 1 {
		t.Errorf("a provider that is away was asked %d times at once", n)
	}
	delete(f.Answer, "discovery")
	c.Advance(6 * time.Second)
	for range 3 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.Asked("discovery"); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
	c.Advance(2 * time.Hour)
	f.Answer["discovery"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
	if err := ask(); err != nil {
		t.Errorf("a provider that goes away: %v", err)
	}
	if n := f.Asked("discovery"); n != 3 {
		t.Errorf("asked %d times, want 3", n)
	}
}

// hang makes the metadata endpoint of a forger hang. hangs receives when a request hangs. A status
// that is sent to end ends the request.
func hang(f *ssotest.Forger) (hangs chan struct{}, end chan int) {
	hangs, end = make(chan struct{}, 10), make(chan int)
	f.Answer["discovery"] = func(w http.ResponseWriter, r *http.Request) {
		hangs <- struct{}{}
		select {
		case status := <-end:
			w.WriteHeader(status)
		case <-r.Context().Done():
		}
	}
	return hangs, end
}

// wait returns the next value of a channel. It fails the test if none arrives.
func wait[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-waittest.New().Stuck():
		t.Fatal("nothing comes")
	}
	return v
}

// TestHangingProvider checks callers while the first fetch of the metadata hangs. All callers wait
// for the same fetch, and a caller whose context ends waits no longer. After a failed fetch, no
// request follows at once.
func TestHangingProvider(t *testing.T) {
	f, c := ssotest.Forge(t), clock.NewFake(time.Now())
	client := f.Client(t, c)
	hangs, end := hang(f)
	came := make(chan error, 3)
	ask := func(ctx context.Context) { _, _, err := client.Ask(ctx, false, token); came <- err }
	ctx, away := context.WithCancel(t.Context())
	go ask(ctx)
	wait(t, hangs)
	go ask(ctx)
	away()
	for range 2 {
		if err := wait(t, came); !errors.Is(err, sso.ErrAway) || !errors.Is(err, context.Canceled) {
			t.Errorf("somebody who went away: %v", err)
		}
	}
	go ask(t.Context())
	c.Advance(10 * time.Second)
	end <- http.StatusServiceUnavailable
	if err := wait(t, came); !errors.Is(err, sso.ErrAway) {
		t.Errorf("%v", err)
	}
	go ask(t.Context())
	if err := wait(t, came); !errors.Is(err, sso.ErrAway) || f.Asked("discovery") != 1 {
		t.Errorf("asked %d times: %v", f.Asked("discovery"), err)
	}
}

// TestKnownProviderHangs checks that callers use the known metadata while a new fetch hangs.
func TestKnownProviderHangs(t *testing.T) {
	f, c := ssotest.Forge(t), clock.NewFake(time.Now())
	client := f.Client(t, c)
	came := make(chan error, 2)
	ask := func() { _, _, err := client.Ask(t.Context(), false, token); came <- err }
	if ask(); <-came != nil {
		t.Fatal("the provider is away")
	}
	c.Advance(2 * time.Hour)
	hangs, end := hang(f)
	go ask()
	wait(t, hangs)
	for range 3 {
		go ask()
		if err := wait(t, came); err != nil {
			t.Error(err)
		}
	}
	end <- http.StatusServiceUnavailable
	if err := wait(t, came); err != nil {
		t.Error(err)
	}
	if n := f.Asked("discovery"); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
}

// TestSecretPlace checks that the client secret is sent in the form that the provider supports.
func TestSecretPlace(t *testing.T) {
	for methods, inForm := range map[string]bool{
		"": false, "client_secret_basic client_secret_post": false, "client_secret_post": true,
	} {
		f := ssotest.Forge(t)
		f.Document = func(d map[string]any) {
			if methods != "" {
				d["token_endpoint_auth_methods_supported"] = strings.Fields(methods)
			}
		}
		if _, err := forged(t, f, false); err != nil {
			t.Fatal(err)
		}
		if form := f.Form(); (form.Get("client_secret") == ssotest.Secret) != inForm || form.Get("code_verifier") == "" ||
			f.Asked("token") != 1 {
			t.Errorf("%q: %v, asked %d times", methods, form, f.Asked("token"))
		}
	}
}
