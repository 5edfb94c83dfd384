package api

import (
	"context"
	"time"

	"kartei/api/openapi"
	"kartei/clock"
	"kartei/fault"
)

// served is one version as the path serves it.
type served struct {
	name  string
	rules *rules
	// deprecated and sunset are zero until they are announced.
	deprecated, sunset time.Time
	// headers are those that name the version in every answer.
	svcVersion, link []string
}

func newServed(name string, rules *rules) *served {
	return &served{
		name: name, rules: rules,
		svcVersion: []string{name},
		link:       []string{`</v1/openapi.json?version=` + name + `>; rel="service-desc"; type="application/json"`},
	}
}

// version resolves the version: the one that the request asks for, else the
// one that the key pins.
func version(a *API, _ context.Context, c *call) error {
	name := c.actor.Key().VersionPin
	if asked := c.Header["Svc-Version"]; len(asked) > 0 {
		if len(asked) > 1 {
			return fault.BadRequest(fault.Field{Name: "Svc-Version", Code: fault.InvalidFormat})
		}
		name = asked[0]
	}
	v := a.versions[name]
	if v == nil {
		return fault.BadRequest(fault.Field{Name: "Svc-Version", Code: fault.NotInEnum, Limit: a.Versions()})
	}
	c.version, c.rules = name, v.rules
	if !v.sunset.IsZero() && clock.FromTime(v.sunset) <= c.now {
		return fault.New(fault.VersionSunset)
	}
	return nil
}

// Versions returns the names of the versions that this instance serves, the
// oldest first.
func (a *API) Versions() []string { return openapi.Versions() }
