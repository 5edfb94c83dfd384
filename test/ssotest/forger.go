package ssotest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"kartei/kit/clock"
	"kartei/kit/egress"
	"kartei/people/sso"
)

// Forger is an OpenID provider whose responses a test can change, as a broken or hostile provider
// would. It has no sign-in page. Its token endpoint accepts any code.
type Forger struct {
	*httptest.Server
	// Document changes the provider's metadata. nil changes nothing.
	Document func(map[string]any)
	// Claims changes the claims of ID tokens. nil changes nothing.
	Claims func(map[string]any)
	// Sign signs the claims and returns the ID token. nil signs with Key and RS256.
	Sign func(claims []byte) string
	// Answer maps an endpoint (discovery, token, keys or userinfo) to a handler that replaces it.
	Answer map[string]http.HandlerFunc
	// Nonce is the claim nonce of ID tokens. Tests copy it from the authorization request.
	Nonce string
	// Clock sets the times in ID tokens. Client sets it to the clock of the client.
	Clock clock.Clock

	Key   *rsa.PrivateKey
	mu    sync.Mutex
	asked map[string]int
	form  url.Values
}

var forgedKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// Forge starts a Forger. It is stopped when the test ends.
func Forge(t testing.TB) *Forger {
	f := &Forger{Key: forgedKey(), Clock: clock.System, Answer: map[string]http.HandlerFunc{}, asked: map[string]int{}}
	mux := http.NewServeMux()
	for path, of := range map[string]struct {
		name  string
		serve http.HandlerFunc
	}{
		"/.well-known/openid-configuration": {"discovery", f.document}, "/token": {"token", f.token},
		"/keys": {"keys", f.keys}, "/userinfo": {"userinfo", f.userinfo},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			f.asked[of.name]++
			f.mu.Unlock()
			if other := f.Answer[of.name]; other != nil {
				other(w, r)
				return
			}
			of.serve(w, r)
		})
	}
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// Asked returns the number of requests to an endpoint.
func (f *Forger) Asked(endpoint string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[endpoint]
}

// Form returns the form of the last request to the token endpoint.
func (f *Forger) Form() url.Values {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.form
}

// Client returns a client of the provider. From then on, both use the clock c.
func (f *Forger) Client(t testing.TB, c clock.Clock) *sso.Provider {
	at, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	f.Clock = c
	p := sso.New(sso.Options{
		Issuer: f.URL, ClientID: ClientID, ClientSecret: Secret, Name: "Firmenlogin",
		Callback: "https://kartei.example/signin/sso/callback",
		Egress:   egress.Options{Trusted: at}, Clock: c,
	})
	t.Cleanup(p.Close)
	return p
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (f *Forger) document(w http.ResponseWriter, _ *http.Request) {
	d := map[string]any{
		"issuer": f.URL, "authorization_endpoint": f.URL + "/auth", "token_endpoint": f.URL + "/token",
		"jwks_uri":          f.URL + "/keys",
		"userinfo_endpoint": f.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
	}
	if f.Document != nil {
		f.Document(d)
	}
	reply(w, d)
}

func (f *Forger) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	f.mu.Lock()
	f.form = r.PostForm
	f.mu.Unlock()
	now := f.Clock.Now().Unix()
	c := map[string]any{
		"iss": f.URL, "sub": "ida", "aud": ClientID, "exp": now + 300, "iat": now, "auth_time": now, "nonce": f.Nonce,
		"email": "ida@kanzlei.example", "email_verified": true, "name": "Ida Berg",
	}
	if f.Claims != nil {
		f.Claims(c)
	}
	text, _ := json.Marshal(c)
	sign := f.Sign
	if sign == nil {
		sign = func(claims []byte) string { return Signed(jose.RS256, f.Key, claims) }
	}
	reply(w, map[string]any{"access_token": "opak", "token_type": "Bearer", "id_token": sign(text)})
}

func (f *Forger) keys(w http.ResponseWriter, _ *http.Request) {
	reply(w, jose.JSONWebKeySet{
		Keys: []jose.JSONWebKey{{Key: f.Key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}},
	})
}

func (f *Forger) userinfo(w http.ResponseWriter, _ *http.Request) {
	reply(w, map[string]any{"sub": "ida", "email": "ida@kanzlei.example", "email_verified": true})
}

// Signed returns the claims as a token that key has signed.
func Signed(algorithm jose.SignatureAlgorithm, key any, claims []byte) string {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil)
	if err != nil {
		panic(err)
	}
	token, err := s.Sign(claims)
	if err != nil {
		panic(err)
	}
	text, err := token.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return text
}
