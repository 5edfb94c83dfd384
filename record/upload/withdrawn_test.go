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
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// withdrawals are functions that withdraw a right from a client with a key, or give it back if
// away is false.
var withdrawals = map[string]func(c *apitest.Client, key op.ByID, away bool) error{
	"principal disabled": func(c *apitest.Client, _ op.ByID, away bool) error {
		return second(c.Operator.SetUser(c.Context(), principal.Change{ID: c.Principal, Disabled: &away}))
	},
	"role without writing": func(c *apitest.Client, _ op.ByID, away bool) error {
		role := either(away, access.Viewer, access.Member)
		return second(c.Operator.SetUser(c.Context(), principal.Change{ID: c.Principal, Role: &role}))
	},
	"organization closed": func(c *apitest.Client, _ op.ByID, away bool) error {
		state := either(away, access.Closed, access.Open)
		return second(c.Operator.SetOrganization(c.Context(), organization.Change{ID: c.ID, State: &state}))
	},
	"module off": func(c *apitest.Client, _ op.ByID, away bool) error {
		module := either(away, "off", "on")
		return second(c.Operator.SetOrganization(c.Context(), organization.Change{ID: c.SandboxID, Module: &module}))
	},
	"level read": func(c *apitest.Client, _ op.ByID, away bool) error {
		level := either(away, access.Read, access.On)
		return second(c.Operator.SetOrganization(c.Context(), organization.Change{ID: c.SandboxID, Level: &level}))
	},
	"key paused": func(c *apitest.Client, key op.ByID, away bool) error {
		if away {
			return second(c.Operator.PauseKey(c.Context(), key))
		}
		return second(c.Operator.ResumeKey(c.Context(), key))
	},
	"key revoked": func(c *apitest.Client, key op.ByID, away bool) error {
		if away {
			return second(c.Operator.RevokeKey(c.Context(), key))
		}
		return nil
	},
	"key expired": func(c *apitest.Client, _ op.ByID, away bool) error {
		if away {
			c.Clock.Advance(2 * time.Hour)
		}
		return nil
	},
}

func second[T any](_ T, err error) error { return err }

// TestWithdrawn checks that a session accepts a file only while the key that began it may upload.
// Otherwise nothing is stored. A change of rights takes effect with the next PUT.
func TestWithdrawn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		file := []byte("Guten Tag\n")
		for name, change := range withdrawals {
			t.Run(name, func(t *testing.T) {
				switch {
				case strings.HasPrefix(name, "key"):
					apitest.BySession.Except(t, "authenticate", "a session does not end with a key of its person")
				case name == "module off", name == "level read":
					apitest.BySession.Except(t, "gate", "this switch is for programs")
				}
				c, key := withOwnKey(t, o)
				session := c.Do("POST", "/uploads", map[string]any{
					"fileName": "a.txt", "contentType": "text/plain", "size": len(file),
				}).Want(201)
				before := len(o.Stored())
				if err := change(c, key, true); err != nil {
					t.Fatal(err)
				}
				c.Put(session, file).Want(404, "NOT_FOUND")
				if n := len(o.Stored()); n != before {
					t.Errorf("%d files, %d before", n, before)
				}
				if err := change(c, key, false); err != nil {
					t.Fatal(err)
				}
				ended := apitest.Door() == "web" && (name == "principal disabled" || name == "role without writing")
				// If the key or the session of the person has ended, the withdrawal is permanent.
				if name == "key revoked" || name == "key expired" || ended {
					c.Put(session, file).Want(404, "NOT_FOUND")
				} else {
					c.Put(session, file).Want(204)
				}
			})
		}
	})
}

// withOwnKey returns a client with a key that is valid for an hour.
func withOwnKey(t *testing.T, o *apitest.Office) (*apitest.Client, op.ByID) {
	t.Helper()
	user := o.User(access.Member)
	key, err := o.Operator.CreateKey(t.Context(), key.New{
		Organization: o.SandboxID, Principal: user, Environment: "test", Scopes: apitest.AllScopes,
		Networks: []string{"192.0.2.0/24", "127.0.0.0/8"}, ExpiresIn: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &apitest.Client{Office: o, Principal: user, Key: key.Key}, op.ByID{ID: key.ID}
}

// TestCredentialOpensUpload checks that a credential of any kind can begin a session. Its address
// accepts a file while the credential is valid.
func TestCredentialOpensUpload(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		c := o.As(access.Member)
		actor, err := o.Directory.Authenticate(t.Context(), c.Key, access.V1, netip.MustParseAddr("192.0.2.1"))
		if err != nil {
			t.Fatal(err)
		}
		badge := access.Proof{
			Credential:   access.Credential{ID: "bdg_a"},
			Organization: actor.Org(),
			Principal:    c.Principal,
			Scopes:       access.AllScopes(),
		}
		o.Directory.Accept("badge", access.Finder{
			Kind: "badge", Prefix: "bdg_", Duties: &access.Duties{},
			ByText: func(context.Context, db.Tx, string) (access.Proof, error) { return badge, nil },
			ByID:   func(context.Context, db.Tx, int64, string) (access.Proof, error) { return badge, nil },
		})
		file := []byte("Guten Tag\n")
		body := fmt.Appendf(nil, `{"fileName":"a.txt","contentType":"text/plain","size":%d}`, len(file))
		opened := o.API.Do(t.Context(), &api.Request{
			Method: "POST", Path: "/uploads", Door: api.Web, Credential: api.Credential{Scheme: "badge", Text: "a"},
			Header: map[string][]string{"Content-Type": {"application/json"}}, HasBody: true,
			Body: func() ([]byte, error) { return body, nil },
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
