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

// These constants bound the fetch of a document. A person waits for it.
const (
	maxDocument  = 5 << 10 // in bytes
	documentTime = 5 * time.Second
	// shortestUse and longestUse are the bounds of the time for which a fetched document is used.
	// The server of the document sets the time.
	shortestUse = 5 * time.Minute
	longestUse  = 24 * time.Hour
)

// DocumentError says why a document cannot be used. Why is the text for people.
type DocumentError struct {
	Why i18n.Text
	// Cause is the text for the operator. People do not see it, because it describes responses in
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

// NamesDocument reports whether a client_id is the URL of a document.
func NamesDocument(clientID string) bool { return strings.HasPrefix(clientID, "https://") }

// validDocument reports whether the URL of a document may be a client_id
// (draft-ietf-oauth-client-id-metadata-document-00, section 3). It must have a host and a path
// without dot segments. It must not have user information or a fragment. It must have the port of
// TLS and only ASCII characters, so that no host looks like another one.
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

// Documents fetches the documents of clients. It is safe for concurrent use.
type Documents struct {
	client *http.Client
	hosts  []string // the hosts that documents may have; empty means all hosts
	own    string   // the host of the instance
	reads  singleflight.Group
}

// NewDocuments returns a Documents that connects through guard. If hosts is not empty, it fetches
// only documents of these hosts. It never fetches a document from the instance itself, which has
// the address baseURL.
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

// Check returns a *DocumentError if the client_id is not valid or its host is not permitted.
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

// readResult is the result of a fetch. use is the time for which the document may be used.
type readResult struct {
	client Client
	use    time.Duration
}

// Read fetches the document of a client. Concurrent calls for one document share a fetch. The
// Duration is the time for which the document may be used. If the document cannot be used, Read
// fails with a *DocumentError.
func (d *Documents) Read(ctx context.Context, clientID string) (Client, time.Duration, error) {
	if err := d.Check(clientID); err != nil {
		return Client{}, 0, err
	}
	answer := d.reads.DoChan(clientID, func() (any, error) {
		// The fetch continues if the first caller gives up. Its own timeout bounds it.
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
		// People do not see the cause, because it describes the network of the instance.
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

// get returns the body and the header of a document.
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

// parseDocument returns the client that a document describes. It keeps only the valid redirect
// URIs. A client that prefers authentication by a key, like ChatGPT, is accepted if it also
// supports no authentication.
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

// useOf returns the time for which a document may be used, from its header Cache-Control (RFC 9111,
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
