package oauth

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/signin"
	"kartei/store/db"
)

// AskInput is a request to the authorization endpoint (RFC 6749, section 4.1.1), as the
// browser of a person brings it.
type AskInput struct {
	ResponseType    string   `json:"responseType,omitempty"`
	ClientID        string   `json:"clientId,omitempty"`
	RedirectURI     string   `json:"redirectUri,omitempty"`
	Scope           string   `json:"scope,omitempty"`
	State           string   `json:"state,omitempty"`
	Challenge       string   `json:"codeChallenge,omitempty"`
	ChallengeMethod string   `json:"codeChallengeMethod,omitempty"`
	Resources       []string `json:"resources,omitempty"`
	// Repeated is true if a parameter was sent twice.
	Repeated bool `json:"repeated,omitempty"`
}

// Prompt is what the consent page shows, or the address to which the browser goes on with
// an error.
type Prompt struct {
	// Redirect is set if the request cannot be answered by the person.
	Redirect string `json:"redirect,omitempty"`
	// Ticket is for Answer. The request is kept with it, so no form can change it.
	Ticket string `json:"ticket,omitempty"`
	// Client is what the application calls itself. Host is the one that its document came
	// from, and empty for an application that registered itself.
	Client string `json:"client,omitempty"`
	Host   string `json:"host,omitempty"`
	// RedirectHost is where the person goes afterwards. Local says that it is a program on
	// the person's computer, which any program there can pretend to be.
	// RedirectScheme is the scheme that the program took, if it has one.
	RedirectHost   string `json:"redirectHost,omitempty"`
	Local          bool   `json:"local,omitempty"`
	RedirectScheme string `json:"redirectScheme,omitempty"`
	// RedirectOrigin is the origin that a form may end at, or the scheme of a program.
	RedirectOrigin string `json:"redirectOrigin,omitempty"`
	// Admitted is true if the person may connect the application. Without it Redirect is
	// an address to offer, but not to open unasked.
	Admitted bool `json:"admitted,omitempty"`
	// Refused says why the person may not: applicationsOff or notApproved. Then Redirect
	// leads back to the application with access_denied.
	Refused string `json:"refused,omitempty"`
	// Verified says that an admin has approved the application, whose host is proven. What
	// it asks for is proposed.
	Verified bool `json:"verified,omitempty"`
	// Approves says that the person is an admin, and approves the application by letting it act.
	Approves bool `json:"approves,omitempty"`
	// Renewal says that the person has to renew the connection every 90 days.
	Renewal bool `json:"renewal,omitempty"`
	// Audience is the resource: v1 or mcp.
	Audience string `json:"audience,omitempty"`
	// Scopes are those that the application asks for and that the person has.
	Scopes []string `json:"scopes,omitempty"`
	// Organization and SandboxID are where the application may act.
	Organization access.OrganizationInfo `json:"organization"`
}

// consentRequest is a request that waits for the answer of a person.
type consentRequest struct {
	Session string `json:"session"`
	// Principal and Organization are those that the page named. A person may switch to
	// another organization before they answer.
	Principal    string   `json:"principal"`
	Organization string   `json:"organization"`
	Client       string   `json:"client"`
	RedirectURI  string   `json:"redirectUri"`
	State        string   `json:"state,omitempty"`
	Challenge    string   `json:"challenge"`
	Audience     string   `json:"audience"`
	Scopes       []string `json:"scopes"`
	// DocumentHash is what the application said about itself when the page was shown.
	DocumentHash string `json:"documentHash,omitempty"`
}

// by reports whether a caller is the one who was asked, where they were asked.
func (a *consentRequest) by(caller *access.Actor) bool {
	return a.Session == caller.Credential().ID && a.Principal == caller.PrincipalID() &&
		a.Organization == caller.Organization().ID
}

// maxState bounds the state of an application, in bytes.
const maxState = 2000

// prefetchClient finds the application of a request, before the transaction. It may read the
// document of the application, which only a person who has signed in can cause.
func prefetchClient(ctx context.Context, c *op.Call, in AskInput) (client grant.Client, err error) {
	client, err = findClient(ctx, c, in.ClientID)
	switch {
	case err != nil:
		return client, err
	case !client.Redirects(in.RedirectURI):
		return client, &fault.Fault{Code: fault.InvalidRequest, Detail: unknownRedirect}
	}
	return client, nil
}

// findClient returns the client that calls itself by a name.
func findClient(ctx context.Context, c *op.Call, clientID string) (client grant.Client, err error) {
	if documents := Service.In(c).Documents; documents != nil && grant.NamesDocument(clientID) {
		return byDocument(ctx, c, documents, clientID)
	}
	err = c.Services.Read(ctx, func(tx db.Tx) error {
		client, err = liveClient(ctx, tx, clientID)
		return err
	})
	return client, err
}

var unknownRedirect = i18n.Text("The application names no address to return to (redirect_uri) that is registered for it. So you were not sent anywhere.")

var impersonates = i18n.Text("The name of the application looks like the name of Kartei or of your organization. So you were not sent anywhere. Its developer has to name it differently.")

// Ask prepares the consent of a person. From here on an error goes to the application.
var Ask = op.NewPrefetched("oauth.ask", op.Note, prefetchClient, ask, op.By(op.Member))

func ask(ctx context.Context, c *op.Call, in AskInput, client grant.Client) (out Prompt, err error) {
	// The office is known only here. A name may also have been stored before a rule.
	if grant.Impersonates(client.Name, c.Actor.Organization().Name) {
		return out, &fault.Fault{Code: fault.InvalidRequest, Detail: impersonates}
	}
	audience, known := audienceOf(c, in.Resources)
	scopes := in.scopes(c.Actor)
	code, why := "", ""
	out.RedirectHost, out.Local, out.RedirectOrigin = grant.Host(in.RedirectURI), grant.Local(in.RedirectURI), originOf(in.RedirectURI)
	out.RedirectScheme = grant.Scheme(in.RedirectURI)
	state := in.State
	switch {
	case len(in.State) > maxState:
		code, why, state = grant.InvalidRequest, "The state has more than 2,000 characters.", ""
	case in.Repeated:
		code, why = grant.InvalidRequest, "A parameter was sent twice."
	case client.Kind == grant.ByAdmin:
		code, why = grant.UnauthorizedClient, "This client acts for a service account only."
	case in.ResponseType != "code":
		code, why = "unsupported_response_type", "The response_type must be code."
	case in.ChallengeMethod != "S256" || !grant.ValidChallenge(in.Challenge):
		code, why = grant.InvalidRequest, "A code_challenge with the method S256 is needed."
	case !known:
		code, why = grant.InvalidTarget, "The resource must be one of this server, such as "+
			ResourceOf(c.Services.BaseURL, access.V1)+", and only one."
	case len(scopes) == 0:
		code, why = grant.InvalidScope, "There are no such scopes, or the person has none of them."
	}
	if out.Organization, err = access.OrganizationIn(ctx, c.Tx, c.Actor.Organization().ID); err != nil {
		return out, err
	}
	standing, err := grant.StandingOf(ctx, c.Tx, &out.Organization, &client, c.Actor.PrincipalID())
	if err != nil {
		return out, err
	}
	out.Approves = standing.Setting == access.KnownApplications && !standing.Approved && c.Actor.SeesAll()
	out.Admitted = standing.Open() || out.Approves
	if code != "" {
		out.Redirect = back(c, in.RedirectURI, state, "error", code, "error_description", why)
		return out, nil
	}
	out.Client, out.Audience, out.Scopes = client.Name, audience, scopes
	if client.Kind == grant.ByDocument {
		out.Host = grant.Host(client.ClientID)
		out.Verified = standing.Approved
	}
	if !out.Admitted {
		out.Redirect = back(c, in.RedirectURI, state, "error", "access_denied")
		if out.Refused = applicationsOff; standing.Setting != access.NoApplications {
			out.Refused, err = notApproved, askAdmins(ctx, c, standing.Live, &client)
		}
		return out, err
	}
	out.Renewal = grant.RenewalOf(&client, out.Verified) > 0
	out.Ticket, err = signin.Issue(ctx, c.Tx, c.Now, signin.PageLifetime, signin.Consent, "", consentRequest{
		c.Actor.Credential().ID, c.Actor.PrincipalID(), out.Organization.ID, client.ID, in.RedirectURI, in.State,
		in.Challenge, audience, scopes, client.DocumentHash,
	})
	return out, err
}

// scopes returns the scopes that a request asks for and that the person has. A request
// without any asks for all. Clients also name scopes of other servers, which mean nothing
// here.
func (in *AskInput) scopes(person *access.Actor) []string {
	if strings.TrimSpace(in.Scope) == "" {
		return slices.Clone(person.Scopes())
	}
	list := known(in.Scope)
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return !person.May(s) })
}

// originOf returns what the policy of a page calls the place of an address: its origin, or
// the scheme of an address that is not of the web.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return u.Scheme + ":"
	case strings.Contains(u.Hostname(), ":"): // the policy of a page knows no IPv6 addresses
		return u.Scheme + "://*" + strings.TrimPrefix(u.Host, "["+u.Hostname()+"]")
	}
	return u.Scheme + "://" + u.Host
}

// AnswerInput is the answer of a person to an application.
type AnswerInput struct {
	Ticket string `json:"ticket"`
	Allow  bool   `json:"allow,omitempty"`
	// Scopes are those that the person chose.
	Scopes []string `json:"scopes,omitempty"`
	// Sandbox is true if the application may act in the sandbox, in place of the live
	// organization.
	Sandbox bool `json:"sandbox,omitempty"`
}

// Destination is where the browser goes on.
type Destination struct {
	Redirect string `json:"redirect"`
}

// Secret implements op.Secret: the address has a code.
func (Destination) Secret() {}

// Answer lets an application act for the caller, or not. Letting it needs a recent sign-in,
// whatever it may do; a refusal never waits.
var Answer = op.New("oauth.answer", op.Administer, answer, op.By(op.Member), op.Gives, op.Unstored,
	op.Audited("grant.create"))

func answer(ctx context.Context, c *op.Call, in AnswerInput) (out Destination, err error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return out, err
	}
	var a consentRequest
	if _, err = signin.Take(ctx, c.Tx, c.Now, signin.Consent, in.Ticket, &a); signin.Missing(err) ||
		err == nil && !a.by(c.Actor) {
		return out, &fault.Fault{Code: fault.NotFound, Detail: askedTooLong}
	}
	if err != nil {
		return out, err
	}
	if !in.Allow {
		c.Audit.Omit()
		out.Redirect = back(c, a.RedirectURI, a.State, "error", "access_denied")
		return out, nil
	}
	scopes := slices.DeleteFunc(slices.Clone(a.Scopes),
		func(s string) bool { return !slices.Contains(in.Scopes, s) || !c.Actor.May(s) })
	if len(scopes) == 0 {
		return out, fault.Invalid(fault.Field{Name: "scopes", Code: fault.Required, Text: nothingLeft})
	}
	if err := c.Actor.Recent(c.Now); err != nil {
		return out, err
	}
	client, err := grant.ClientByID(ctx, c.Tx, a.Client)
	if err != nil || client.Disabled {
		return out, &fault.Fault{Code: fault.NotFound, Detail: unknownClient, Cause: err}
	}
	if client.DocumentHash != a.DocumentHash {
		return out, &fault.Fault{Code: fault.NotFound, Detail: describedAnew}
	}
	o, err := access.OrganizationIn(ctx, c.Tx, c.Actor.Organization().ID)
	if err != nil {
		return out, err
	}
	verified, err := admit(ctx, c, &o, &client)
	if err != nil {
		return out, err
	}
	if in.Sandbox && o.SandboxID == "" {
		return out, &fault.Fault{Code: fault.NotFound, Detail: askedTooLong}
	}
	if in.Sandbox {
		o, err = access.OrganizationIn(ctx, c.Tx, o.SandboxID)
	}
	if err != nil {
		return out, err
	}
	begun, err := grant.Begin(ctx, c.Tx, c.Now, grant.NewGrant{
		Client: &client, Organization: o.Number, Principal: c.Actor.PrincipalID(), Scopes: scopes, Audience: a.Audience,
		RedirectURI: a.RedirectURI, Challenge: a.Challenge, Renewal: grant.RenewalOf(&client, verified),
	})
	if err != nil {
		return out, err
	}
	c.Audit.About(o.Number, begun.Grant.ID)
	c.Audit.Changed("clientId", nil, client.ClientID)
	c.Audit.Changed("scopes", nil, begun.Grant.Scopes)
	if err := tellConnected(ctx, c, &begun.Grant, false); err != nil {
		return out, err
	}
	// A person who connects an application too often loses the oldest connection.
	if len(begun.Replaced) > 0 {
		if _, err := disableEndpoints(ctx, c, begun.Replaced...); err != nil {
			return out, err
		}
		replaced := make([]string, len(begun.Replaced))
		for i, old := range begun.Replaced {
			replaced[i] = old.ID
		}
		c.Audit.Changed("replaced", nil, replaced)
	}
	out.Redirect = back(c, a.RedirectURI, a.State, "code", begun.Code)
	return out, nil
}

var (
	askedTooLong  = i18n.Text("This request has expired, or was answered already. Start again in the application.")
	nothingLeft   = i18n.Text("You have ticked nothing. Choose at least one right, or deny.")
	describedAnew = i18n.Text("The application describes itself otherwise by now than on the page that you saw. Start again in the application.")
)

// back returns the redirect URI with the response to the application in its
// query. The query has the parameters, the state and the issuer (RFC 9207).
func back(c *op.Call, address, state string, parameters ...string) string {
	u, err := url.Parse(address)
	if err != nil { // the address is one of the client's, which were parsed before
		return ""
	}
	q := u.Query()
	for i := 0; i+1 < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	if state != "" {
		q.Set("state", state)
	}
	q.Set("iss", c.Services.BaseURL)
	u.RawQuery = q.Encode()
	return u.String()
}
