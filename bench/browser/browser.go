// Package browser owns a browser of a person in an office: requests, forms, and the times of answers.
package browser

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Visitor is a browser of a person. Base is the URL of the server, and Cookie the cookie of the
// session.
type Visitor struct {
	Base, Cookie string
	Client       *http.Client
}

// New returns a Visitor that is not signed in. It keeps up to the given number of idle connections,
// and does not follow redirects.
func New(base string, connections int) *Visitor {
	return &Visitor{Base: base, Client: &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: connections},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

var fieldTags = regexp.MustCompile(`<input [^>]*>`)

var tagNames = regexp.MustCompile(` (name|value|type)="([^"]*)"`)

// Request sends a request like a browser. It returns the response and its body, which is compressed
// if packed is set and the server supports it.
func (v *Visitor) Request(
	ctx context.Context, method, path string, form url.Values, packed bool,
) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, v.Base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, nil, err
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if packed {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	if v.Cookie != "" {
		r.Header.Set("Cookie", v.Cookie)
	}
	answer, err := v.Client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer, body, err
}

// SignIn signs in with an email address and a password, and sets v.Cookie.
func (v *Visitor) SignIn(ctx context.Context, email, password string) error {
	_, body, err := v.Request(ctx, "GET", "/signin", nil, false)
	if err != nil {
		return err
	}
	form := Hidden(string(body), "/signin")
	form.Set("email", email)
	form.Set("password", password)
	answer, body, err := v.Request(ctx, "POST", "/signin", form, false)
	if err != nil {
		return err
	}
	for _, c := range answer.Cookies() {
		if strings.Contains(c.Name, "kartei") && !strings.HasSuffix(c.Name, "-device") && c.Value != "" {
			v.Cookie = c.Name + "=" + c.Value
		}
	}
	if v.Cookie == "" {
		return fmt.Errorf("signing in: %s: %s", answer.Status, body)
	}
	return nil
}

// Hidden returns the names and values of the input fields in the form with an action. It omits
// checkboxes and radio buttons.
func Hidden(page, action string) url.Values {
	_, form, _ := strings.Cut(page, `action="`+action+`"`)
	form, _, _ = strings.Cut(form, "</form>")
	values := url.Values{}
	for _, tag := range fieldTags.FindAllString(form, -1) {
		a := map[string]string{}
		for _, m := range tagNames.FindAllStringSubmatch(tag, -1) {
			a[m[1]] = html.UnescapeString(m[2])
		}
		if a["name"] != "" && a["type"] != "checkbox" && a["type"] != "radio" {
			values.Set(a["name"], a["value"])
		}
	}
	return values
}

// Spans are durations of requests.
type Spans []time.Duration

// At returns a quantile of the durations in milliseconds. The share 0.5 is the median. The
// durations must be sorted.
func (s Spans) At(share float64) float64 {
	return float64(s[int(share*float64(len(s)-1))].Microseconds()) / 1000
}
