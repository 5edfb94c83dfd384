package upload_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// The address of a session accepts a file only while the key that opened it may
// upload. Otherwise nothing is written. A change of rights takes effect with
// the next PUT.
func TestWithdrawn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		file := []byte("Guten Tag\n")
		ok := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		// Each row takes a right from a client with a key, or gives it back.
		for name, change := range map[string]func(c *apitest.Client, key access.ByID, away bool){
			"principal disabled": func(c *apitest.Client, _ access.ByID, away bool) {
				ok(o.Operator.SetUser(t.Context(), settings.PrincipalChange{ID: c.Principal, Disabled: &away}))
			},
			"role without writing": func(c *apitest.Client, _ access.ByID, away bool) {
				role := either(away, access.Viewer, access.Member)
				ok(o.Operator.SetUser(t.Context(), settings.PrincipalChange{ID: c.Principal, Role: &role}))
			},
			"organization closed": func(_ *apitest.Client, _ access.ByID, away bool) {
				state := either(away, access.Closed, access.Open)
				ok(o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.ID, State: &state}))
			},
			"module off": func(_ *apitest.Client, _ access.ByID, away bool) {
				module := either(away, "off", "on")
				ok(o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.SandboxID, Module: &module}))
			},
			"level read": func(_ *apitest.Client, _ access.ByID, away bool) {
				level := either(away, access.Read, access.On)
				ok(o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.SandboxID, Level: &level}))
			},
			"key paused": func(_ *apitest.Client, key access.ByID, away bool) {
				if away {
					ok(o.Operator.PauseKey(t.Context(), key))
				} else {
					ok(o.Operator.ResumeKey(t.Context(), key))
				}
			},
			"key revoked": func(_ *apitest.Client, key access.ByID, away bool) {
				if away {
					ok(o.Operator.RevokeKey(t.Context(), key))
				}
			},
			"key expired": func(_ *apitest.Client, _ access.ByID, away bool) {
				if away {
					o.Clock.Advance(2 * time.Hour)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				switch {
				case strings.HasPrefix(name, "key"):
					apitest.BySession.Except(t, "authenticate", "a session does not end with a key of its person")
				case name == "module off", name == "level read":
					apitest.BySession.Except(t, "gate", "this switch is for programs")
				}
				user := o.User(access.Member)
				key, err := o.Operator.CreateKey(t.Context(), settings.NewKey{
					Organization: o.SandboxID, Principal: user, Environment: "test", Scopes: apitest.AllScopes,
					Networks: []string{"192.0.2.0/24", "127.0.0.0/8"}, ExpiresIn: time.Hour,
				})
				if err != nil {
					t.Fatal(err)
				}
				c := &apitest.Client{Office: o, Principal: user, Key: key.Key}
				session := c.Do("POST", "/uploads", map[string]any{"fileName": "a.txt", "contentType": "text/plain", "size": len(file)}).Want(201)
				before := len(o.Stored())
				change(c, access.ByID{ID: key.ID}, true)
				c.Put(session, file).Want(404, "NOT_FOUND")
				if n := len(o.Stored()); n != before {
					t.Errorf("%d files, %d before", n, before)
				}
				change(c, access.ByID{ID: key.ID}, false)
				ended := apitest.Door() == "web" && (name == "principal disabled" || name == "role without writing")
				if name == "key revoked" || name == "key expired" || ended { // for good: the session has ended
					c.Put(session, file).Want(404, "NOT_FOUND")
				} else {
					c.Put(session, file).Want(204)
				}
			})
		}
	})
}

// TestCredentialOpensUpload: a credential of any kind opens a session, whose address takes
// a file while the credential is valid.
func TestCredentialOpensUpload(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		c := o.As(access.Member)
		actor, err := o.Directory.Authenticate(t.Context(), c.Key, access.V1, netip.MustParseAddr("192.0.2.1"))
		if err != nil {
			t.Fatal(err)
		}
		badge := access.Proof{Credential: access.Credential{ID: "bdg_a"}, Organization: actor.Org(), Principal: c.Principal, Scopes: access.AllScopes()}
		o.Directory.Accept("badge", access.Finder{
			Kind: "badge", Prefix: "bdg_", Duties: &access.Duties{},
			ByText: func(context.Context, db.Tx, string) (access.Proof, error) { return badge, nil },
			ByID:   func(context.Context, db.Tx, int64, string) (access.Proof, error) { return badge, nil },
		})
		file := []byte("Guten Tag\n")
		body := fmt.Appendf(nil, `{"fileName":"a.txt","contentType":"text/plain","size":%d}`, len(file))
		opened := o.API.Do(t.Context(), &api.Request{
			Method: "POST", Path: "/uploads", Door: api.Web, Credential: api.Credential{Scheme: "badge", Text: "a"},
			Header: map[string][]string{"Content-Type": {"application/json"}}, HasBody: true, Body: func() ([]byte, error) { return body, nil },
		}, nil)
		session := &apitest.Answer{TB: t, Status: opened.Status, Body: opened.Body}
		badge.Refused = access.Revoked
		c.Put(session.Want(201), file).Want(404, "NOT_FOUND")
		badge.Refused = ""
		c.Put(session, file).Want(204)
	})
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
