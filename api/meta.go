package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/kit/fault"
)

// Me is the response of me.get.
type Me struct {
	AuthMethod    string   `json:"authMethod" enum:"apiKey,oauth" example:"apiKey"`
	PrincipalType string   `json:"principalType" enum:"user,serviceAccount" example:"user"`
	PrincipalID   string   `json:"principalId" example:"usr_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	PrincipalName string   `json:"principalName" example:"Petra Morgenstern"`
	Organization  MeOrg    `json:"organization"`
	Key           *MeKey   `json:"key"`
	Grant         *MeGrant `json:"grant" example:"null"`
	Scopes        []string `json:"scopes" example:"[\"contacts:read\",\"contacts:write\"]"`
	OpenFamilies  []string `json:"openFamilies" example:"[\"contacts\",\"events\",\"meta\"]"`
	APIVersion    string   `json:"apiVersion" format:"date" example:"2026-11-01"`
}

// MeOrg has the id and the name of an organization.
type MeOrg struct {
	ID   string `json:"id" example:"org_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Name string `json:"name" example:"Kanzlei Morgenstern"`
}

// MeKey describes an API key to the program that uses it.
type MeKey struct {
	KidShort    string       `json:"kidShort" example:"5k3xf0q8"`
	Environment string       `json:"environment" enum:"test,live" example:"test"`
	VersionPin  string       `json:"versionPin" format:"date" example:"2026-11-01"`
	ExpiresAt   clock.Micros `json:"expiresAt" example:"2026-12-01T09:30:00.000000Z"`
}

// MeGrant describes an OAuth grant.
type MeGrant struct {
	ID         string       `json:"id" example:"gra_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	ClientID   string       `json:"clientId" example:"cli_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	ClientName string       `json:"clientName" example:"Fristenkalender"`
	CreatedAt  clock.Micros `json:"createdAt" example:"2026-11-01T09:30:00.000000Z"`
	ExpiresAt  clock.Micros `json:"expiresAt" example:"2026-12-01T09:30:00.000000Z"`
}

func meGet(_ context.Context, c *op.Call, _ op.None) (Me, error) {
	a := c.Actor
	me := Me{
		AuthMethod:    "apiKey",
		PrincipalType: string(a.PrincipalType()), PrincipalID: a.PrincipalID(), PrincipalName: a.PrincipalName(),
		Organization: MeOrg{a.Organization().ID, a.Organization().Name},
		Scopes:       a.Scopes(),
		OpenFamilies: openFamilies(a),
		APIVersion:   c.Version,
	}
	switch of := a.Credential(); {
	case of.Duties.Person:
		me.AuthMethod = "session"
	case of.Grant != nil:
		me.AuthMethod, me.Grant = "oauth", &MeGrant{
			of.ID, of.Grant.ClientID, of.Grant.ClientName, of.Grant.CreatedAt, of.Grant.ExpiresAt,
		}
	default:
		me.Key = &MeKey{of.Short, of.Environment, of.VersionPin, of.ExpiresAt}
	}
	return me, nil
}

// openFamilies returns the families with at least one operation that the actor may call, sorted.
func openFamilies(a *access.Actor) []string {
	var open []string
	for i := range table {
		op := &table[i]
		if a.May(op.Scope) && !slices.Contains(open, op.Family) {
			open = append(open, op.Family)
		}
	}
	slices.Sort(open)
	return open
}

// RateLimit is the response of rateLimit.get.
type RateLimit struct {
	Object   string        `json:"object" enum:"rate_limit" example:"rate_limit"`
	Metered  bool          `json:"metered" example:"true"`
	Policies []LimitPolicy `json:"policies"`
}

// LimitPolicy is a limit and its remaining amount.
type LimitPolicy struct {
	Name          string `json:"name" example:"key"`
	Level         string `json:"level" example:"key"`
	Unit          string `json:"unit" example:"points"`
	Quota         int64  `json:"quota" min:"0" example:"300"`
	Capacity      int64  `json:"capacity" min:"0" example:"600"`
	WindowSeconds int64  `json:"windowSeconds" min:"1" example:"60"`
	Remaining     int64  `json:"remaining" min:"0" example:"412"`
	ResetSeconds  int64  `json:"resetSeconds" min:"0" example:"38"`
}

func rateLimitGet(ctx context.Context, c *op.Call, _ op.None) (RateLimit, error) {
	limiter := key.Limits.In(c)
	statuses, err := limiter.Status(ctx, chargeTo(c.Actor))
	if err != nil {
		return RateLimit{}, err
	}
	r := RateLimit{Object: "rate_limit", Metered: limiter.Metered()}
	for i := range statuses {
		s := &statuses[i]
		r.Policies = append(r.Policies, LimitPolicy{
			s.Name, s.Level, string(s.Unit), s.Quota, s.Capacity, int64(s.Window.Seconds()), s.Remaining, s.ResetSeconds(),
		})
	}
	return r, nil
}

// OpenAPIInput is the input of openapi.get.
type OpenAPIInput struct {
	Version string `query:"version" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$" example:"2026-11-01"`
}

// Document is a frozen OpenAPI document. It is sent unchanged.
type Document struct{ bytes []byte }

// AppendJSON appends the document to b. If b is nil, it returns the shared bytes of the document,
// which must not be changed.
func (d Document) AppendJSON(b []byte) []byte {
	if b == nil {
		return d.bytes
	}
	return append(b, d.bytes...)
}

// EntityTag returns the first 12 bytes of the document's SHA-256 in hexadecimal
// digits.
func (d Document) EntityTag() string {
	sum := sha256.Sum256(d.bytes)
	return hex.EncodeToString(sum[:12])
}

// documents is the service that returns the frozen document of a version, and false if the version
// is not served.
var documents = op.Need[func(version string) ([]byte, bool)]("OpenAPI documents")

func openapiGet(_ context.Context, c *op.Call, in OpenAPIInput) (Document, error) {
	version := in.Version
	if version == "" {
		version = c.Version
	}
	document, ok := documents.In(c)(version)
	if !ok {
		return Document{}, fault.New(fault.NotFound)
	}
	return Document{document}, nil
}
