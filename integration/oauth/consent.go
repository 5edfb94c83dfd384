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

// AskInput is an authorization request (RFC 6749, section 4.1.1) that a person's browser sent.
type AskInput struct {
	ResponseType    string   `json:"responseType,omitempty"`
	ClientID        string   `json:"clientId,omitempty"`
	RedirectURI     string   `json:"redirectUri,omitempty"`
	Scope           string   `json:"scope,omitempty"`
	State           string   `json:"state,omitempty"`
	Challenge       string   `json:"codeChallenge,omitempty"`
	ChallengeMethod string   `json:"codeChallengeMethod,omitempty"`
	Resources       []string `json:"resources,omitempty"`
	// Repeated is true if the request has a parameter twice.
	Repeated bool `json:"repeated,omitempty"`
}

// Prompt has the data of the consent page. If the request is wrong, it only has a redirect URI with
// an error.
type Prompt struct {
	// Redirect is the redirect URI with an error. It is empty if the page can ask for the consent.
	Redirect string `json:"redirect,omitempty"`
	// Ticket is the token that Answer needs. The database stores the request under the ticket, so
	// the form of the page cannot change the request.
	Ticket string `json:"ticket,omitempty"`
	// Client is the name of the application. Host is the host of its document, and empty if the
	// application registered itself.
	Client string `json:"client,omitempty"`
	Host   string `json:"host,omitempty"`
	// RedirectHost is the host of the redirect URI. Local says that the redirect URI belongs to a
	// program on the person's computer. Any other program there can pretend to be that program.
	// RedirectScheme is the private scheme of the program, if it has one.
	RedirectHost   string `json:"redirectHost,omitempty"`
	Local          bool   `json:"local,omitempty"`
	RedirectScheme string `json:"redirectScheme,omitempty"`
	// RedirectOrigin is the source for form-action in the page's content security policy. It is the
	// origin of the redirect URI, or the scheme of a program.
	RedirectOrigin string `json:"redirectOrigin,omitempty"`
	// Admitted is true if the person may connect the application. If it is false, the page may show
	// Redirect as a link, but must not redirect to it.
	Admitted bool `json:"admitted,omitempty"`
	// Refused says why the person may not connect the application: applicationsOff or notApproved.
	// Redirect then is the redirect URI with the error access_denied.
	Refused string `json:"refused,omitempty"`
	// Verified says that an admin has approved the application's document. The page then preselects
	// the requested scopes.
	Verified bool `json:"verified,omitempty"`
	// Approves says that the person is an admin whose consent also approves the application.
	Approves bool `json:"approves,omitempty"`
	// Renewal says that the person must renew the connection every 90 days.
	Renewal bool `json:"renewal,omitempty"`
	// Audience is the resource: v1 or mcp.
	Audience string `json:"audience,omitempty"`
	// Scopes are the requested scopes that the person has.
	Scopes []string `json:"scopes,omitempty"`
	// Organization is the organization in which the application may act. Its SandboxID is the other
	// choice.
	Organization access.OrganizationInfo `json:"organization"`
}

// consentRequest is a request that waits for the answer of a person.
type consentRequest struct {
	Session string `json:"session"`
	// Principal and Organization are the person and the organization that the page showed. A person
	// may switch to another organization before they answer.
	Principal    string   `json:"principal"`
	Organization string   `json:"organization"`
	Client       string   `json:"client"`
	RedirectURI  string   `json:"redirectUri"`
	State        string   `json:"state,omitempty"`
	Challenge    string   `json:"challenge"`
	Audience     string   `json:"audience"`
	Scopes       []string `json:"scopes"`
	// DocumentHash is the hash of the application's document when the page was shown.
	DocumentHash string `json:"documentHash,omitempty"`
}

// by reports whether the caller has the session, the principal and the organization of the request.
func (a *consentRequest) by(caller *access.Actor) bool {
	return a.Session == caller.Credential().ID && a.Principal == caller.PrincipalID() &&
		a.Organization == caller.Organization().ID
}

// maxState is the maximum length of the state parameter, in bytes.
const maxState = 2000

// prefetchClient returns the application of a request. It runs before the transaction, because it
// may fetch the application's document. Only a person who has signed in can cause that.
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

// findClient returns the client with a client_id. It fails if there is none.
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

// Ask is the operation that prepares the consent page. The redirect URI is valid here, so all other
// errors are sent to it.
var Ask = op.NewPrefetched("oauth.ask", op.Note, prefetchClient, ask, op.By(op.Member))

func ask(ctx context.Context, c *op.Call, in AskInput, client grant.Client) (out Prompt, err error) {
	// The name of the organization is known only here. A name may have been stored before this rule
	// existed.
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

// scopes returns the requested scopes that the person has. A request without scopes requests all of
// them. Clients also request scopes of other servers, which are ignored.
func (in *AskInput) scopes(person *access.Actor) []string {
	if strings.TrimSpace(in.Scope) == "" {
		return slices.Clone(person.Scopes())
	}
	list := known(in.Scope)
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return !person.May(s) })
}

// originOf returns the source for an address in a content security policy. It is the origin, or the
// scheme if the address has a private scheme.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return u.Scheme + ":"
	case strings.Contains(u.Hostname(), ":"): // a content security policy cannot contain IPv6 addresses
		return u.Scheme + "://*" + strings.TrimPrefix(u.Host, "["+u.Hostname()+"]")
	}
	return u.Scheme + "://" + u.Host
}

// AnswerInput is the answer of a person to the consent page.
type AnswerInput struct {
	Ticket string `json:"ticket"`
	Allow  bool   `json:"allow,omitempty"`
	// Scopes are the scopes that the person has chosen.
	Scopes []string `json:"scopes,omitempty"`
	// Sandbox is true if the application may act in the sandbox instead of the live organization.
	Sandbox bool `json:"sandbox,omitempty"`
}

// Destination is the redirect URI to which the browser is sent.
type Destination struct {
	Redirect string `json:"redirect"`
}

// Secret implements op.Secret, because the address contains a code.
func (Destination) Secret() {}

// Answer is the operation that lets an application act for the caller, or refuses that. Consent
// always needs a recent sign-in. A refusal does not.
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
	// If there are too many grants of an application for a person, the oldest ones end.
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
	if err != nil { // this never happens: the redirect URIs of a client have been parsed before
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
