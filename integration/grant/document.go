package grant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"kartei/kit/egress"
	"kartei/kit/i18n"
)

// The bounds of reading a document. A person waits for it.
const (
	maxDocument  = 5 << 10 // bytes
	documentTime = 5 * time.Second
	// A document is used again for as long as its server says, within these bounds.
	shortestUse = 5 * time.Minute
	longestUse  = 24 * time.Hour
)

// DocumentError says for people why a document does not make its application known.
type DocumentError struct {
	Why i18n.Text
	// Cause is for the operator. No person sees it, since it shows answers from
	// the network of the instance.
	Cause error
}

func (e *DocumentError) Error() string {
	if e.Cause != nil {
		return e.Why.In(i18n.English) + " " + e.Cause.Error()
	}
	return e.Why.In(i18n.English)
}

func unfit(why i18n.Text) error { return &DocumentError{Why: why} }

// NamesDocument reports whether the name by which a client calls itself is the address of a
// document about it.
func NamesDocument(clientID string) bool { return strings.HasPrefix(clientID, "https://") }

// validDocument reports whether the address of a document may name a client: it has a host
// and a path without dot segments, and neither user information nor a fragment
// (draft-ietf-oauth-client-id-metadata-document-00, section 3). Only the port of TLS is
// taken, and only ASCII, so that a host cannot look like another one.
func validDocument(clientID string) bool {
	u, err := url.Parse(clientID)
	switch {
	case err != nil, len(clientID) > maxURI, u.Scheme != "https", u.User != nil, !plainHost(u), strings.Contains(clientID, "#"):
		return false
	case u.Port() != "" && u.Port() != strconv.Itoa(egress.Port), strings.HasSuffix(u.Host,
		":"), u.Path == "", u.Path == "/":
		return false
	case strings.ContainsFunc(clientID, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }):
		return false
	}
	return !slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." })
}

// Documents reads what applications say about themselves at the address by which they call
// themselves. It is safe for concurrent use.
type Documents struct {
	client *http.Client
	hosts  []string // all if it is empty
	own    string   // the host of the instance
	reads  singleflight.Group
}

// NewDocuments returns a reader that dials by a guard. With hosts it reads documents of
// these only. It reads none of the instance itself, whose address is baseURL.
func NewDocuments(guard *egress.Guard, hosts []string, baseURL string) *Documents {
	d := &Documents{hosts: hosts, client: &http.Client{
		Transport: guard.Transport(), Timeout: documentTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if u, err := url.Parse(baseURL); err == nil {
		d.own = u.Hostname()
	}
	return d
}

// Close closes idle connections.
func (d *Documents) Close() { d.client.CloseIdleConnections() }

// Check refuses names that no document is read for, as a *DocumentError.
func (d *Documents) Check(clientID string) error {
	u, err := url.Parse(clientID)
	switch {
	case err != nil || !validDocument(clientID):
		return unfit("The address by which the application calls itself is not permitted.")
	case strings.EqualFold(u.Hostname(), d.own), len(d.hosts) > 0 &&
		!slices.Contains(d.hosts, strings.ToLower(u.Hostname())):
		return unfit("Applications of this host are not admitted here.")
	}
	return nil
}

// readResult is what one read of a document found.
type readResult struct {
	client Client
	use    time.Duration
}

// Read reads the document of a client, once for all who ask at the same time. It returns
// how long the document may be used. What makes the client unknown is a *DocumentError.
func (d *Documents) Read(ctx context.Context, clientID string) (Client, time.Duration, error) {
	if err := d.Check(clientID); err != nil {
		return Client{}, 0, err
	}
	answer := d.reads.DoChan(clientID, func() (any, error) {
		// It does not end with the one who came first. The client bounds its time.
		return d.fetch(context.WithoutCancel(ctx), clientID)
	})
	select {
	case <-ctx.Done():
		return Client{}, 0, ctx.Err()
	case a := <-answer:
		if a.Err != nil {
			return Client{}, 0, a.Err
		}
		found := a.Val.(readResult)
		return found.client, found.use, nil
	}
}

func (d *Documents) fetch(ctx context.Context, clientID string) (found readResult, err error) {
	body, header, err := d.get(ctx, clientID)
	if err != nil {
		// The cause is not shown: it would describe the network of the instance.
		return found, &DocumentError{
			Cause: err,
			Why:   "The description of the application could not be read at the address by which it calls itself.",
		}
	}
	found.client, err = parseDocument(clientID, body)
	sum := sha256.Sum256(body)
	found.client.DocumentHash = hex.EncodeToString(sum[:])
	found.use = useOf(header.Get("Cache-Control"))
	return found, err
}

// get returns the body of a document, and its header.
func (d *Documents) get(ctx context.Context, at string) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "Kartei")
	answer, err := d.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("the answer is %d", answer.StatusCode)
	}
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, nil, errors.New("the answer is not JSON")
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxDocument+1))
	if err != nil {
		return body, answer.Header, err
	}
	if len(body) > maxDocument {
		return body, answer.Header, errors.New("the answer is too long")
	}
	return body, answer.Header, nil
}

// parseDocument returns the client that a document describes. It keeps only the
// addresses that people may be redirected to. An application that prefers to prove itself
// by a key, like ChatGPT, is let in if it also works without one.
func parseDocument(clientID string, body []byte) (c Client, err error) {
	var document struct {
		ClientID     string   `json:"client_id"`
		Name         string   `json:"client_name"`
		RedirectURIs []string `json:"redirect_uris"`
		Method       string   `json:"token_endpoint_auth_method"`
		Methods      []string `json:"token_endpoint_auth_methods_supported"`
	}
	if json.Unmarshal(body, &document) != nil {
		return c, unfit("The description of the application is malformed.")
	}
	addresses := slices.DeleteFunc(document.RedirectURIs, func(a string) bool { return !ValidRedirect(a, true) })
	switch {
	case document.ClientID != clientID:
		return c, unfit("The description is that of another application.")
	case document.Method != "" && document.Method != NoSecret && !slices.Contains(document.Methods, NoSecret):
		return c, unfit("The application wants to prove itself in a way that is not possible here.")
	case Impersonates(document.Name):
		return c, unfit("The application calls itself Kartei.")
	case len(addresses) == 0:
		return c, unfit("The description has no address that you could return to.")
	}
	return Client{
		Kind: ByDocument, ClientID: clientID, Name: CleanName(document.Name), RedirectURIs: addresses,
		Method: NoSecret,
	}, nil
}

// useOf returns how long a document is used, by its header Cache-Control (RFC 9111,
// section 5.2.2).
func useOf(control string) time.Duration {
	use := shortestUse
	for directive := range strings.SplitSeq(strings.ToLower(control), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store", "no-cache":
			return shortestUse
		case "max-age":
			if seconds, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 64); err == nil {
				use = time.Duration(min(seconds, int64(longestUse/time.Second))) * time.Second
			}
		}
	}
	return min(max(use, shortestUse), longestUse)
}
