package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/people/organization"
	"kartei/record"
	"kartei/record/contact"
	"kartei/test/apitest"
)

// cell is a combination of the switches and the state of an organization.
type cell struct {
	module, secrecy string
	level           access.Level
	state           access.State
}

// cells are all 36 combinations of the values in a cell.
var cells = func() (all []cell) {
	for _, module := range []string{"off", "on"} {
		for _, secrecy := range []string{"undeclared", "declared"} {
			for _, level := range []access.Level{access.Off, access.Read, access.On} {
				for _, state := range []access.State{access.Open, access.Closed, access.Deleting} {
					all = append(all, cell{module, secrecy, level, state})
				}
			}
		}
	}
	return all
}()

// gate returns what the contract says for a cell ('Authentication', points 6 and 8). refusal is the
// status and code with which every call is refused, or empty. readOnly says that only writes are
// refused.
func (c cell) gate() (refusal string, readOnly bool) {
	switch {
	case c.module == "off", c.secrecy == "undeclared": // undeclared counts as off
		return "403 API_MODULE_DISABLED", false
	case c.level == access.Off:
		return "401 UNAUTHENTICATED", false
	case c.state != access.Open:
		return "403 FORBIDDEN", false
	}
	return "", c.level == access.Read
}

func (c cell) set(t testing.TB, o *apitest.Office, of string) {
	t.Helper()
	change := organization.Change{ID: of, Module: &c.module, Secrecy: &c.secrecy, Level: &c.level}
	if of != o.SandboxID { // a sandbox has the state of its organization
		change.State = &c.state
	}
	if _, err := o.Operator.SetOrganization(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

// said returns the status and problem code of a response, as in the tables of this file.
func said(a *apitest.Answer) string {
	if a.Status < 400 {
		return fmt.Sprint(a.Status)
	}
	return fmt.Sprint(a.Status, " ", a.Text("code"))
}

// liveKey returns a client with a key for the live environment and every scope.
func liveKey(t testing.TB, o *apitest.Office) *apitest.Client {
	t.Helper()
	user := o.User(access.Member)
	made, err := o.Operator.CreateKey(t.Context(), key.New{
		Organization: o.ID, Principal: user, Environment: "live", Scopes: apitest.AllScopes,
		Networks: []string{"192.0.2.0/24"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &apitest.Client{Office: o, Principal: user, Key: made.Key}
}

// TestGate checks the responses of every operation, and of every blocked family, in every cell. It
// uses a live key and a test key, since a sandbox has its own switches. A change of a switch must
// apply to the next call. If the API is off, the operation does not matter. Each such cell
// therefore tries only a third of the operations, in turn.
func TestGate(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		live, test := liveKey(t, o), o.As(access.Member)
		for _, c := range []struct {
			*apitest.Client
			organization string
		}{{live, o.ID}, {test, o.SandboxID}} {
			open := cell{"on", "declared", access.On, access.Open}
			places, reads := map[string]string{}, map[string]string{}
			for op := range rows() {
				places[op.ID] = path(t, c.Client, op)
			}
			tried := 0
			for _, cell := range append(cells, open) {
				if c.organization == o.SandboxID && cell.state != access.Open {
					continue
				}
				cell.set(t, o, c.organization)
				refusal, readOnly := cell.gate()
				tried++
				turn := tried
				for op := range rows() {
					if turn++; refusal == "403 API_MODULE_DISABLED" && turn%3 != 0 {
						continue
					}
					at, want := somePath(op), refusal
					switch {
					case want != "":
					case !op.Writes():
						at, want = places[op.ID], "200"
					case readOnly && op.Scope != "":
						want = "403 FORBIDDEN"
					default: // the body has the next error
						want = said(c.Do(op.Method, at, nil))
						if strings.HasPrefix(want, "401") || strings.HasPrefix(want, "403") {
							t.Errorf("%+v: %s answers %s", cell, op.ID, want)
						}
						continue
					}
					a := c.Do(op.Method, at, nil)
					if got := said(a); got != want {
						t.Errorf("%+v: %s answers %s, want %s", cell, op.ID, got, want)
					}
					if a.Status == 401 && a.JSON()["detail"] != nil {
						t.Errorf("%+v: %s says why: %s", cell, op.ID, a.Body)
					}
					if _, kept := reads[op.ID]; a.Status == 200 && !kept {
						reads[op.ID] = string(a.Body)
					} else if kept && a.Status == 200 && op.Family != "meta" && reads[op.ID] != string(a.Body) &&
						op.ID != "events.list" {
						t.Errorf("%+v: %s has changed:\n%s\n%s", cell, op.ID, reads[op.ID], a.Body)
					}
				}
				for _, family := range []string{"/invoices", "/secrets/x", "/users/usr_1", "/api_keys"} {
					want := refusal
					if want == "" {
						want = "403 RISK_FAMILY_BLOCKED"
					}
					if got := said(c.Do("DELETE", family, nil)); got != want {
						t.Errorf("%+v: %s answers %s, want %s", cell, family, got, want)
					}
				}
				// The switches are checked directly after the credential.
				want := refusal
				if want == "" {
					want = "403 ORGANIZATION_MISMATCH"
				}
				if got := said(c.Do("GET", "/me", nil, "Svc-Organization", "org_x", "Svc-Version", "2000-01-01")); got != want {
					t.Errorf("%+v, another organization: %s, want %s", cell, got, want)
				}
			}
			for op := range rows() { // to see that no call deleted a record
				call(t, c.Client, op).Want(op.Status())
			}
		}
	})
}

// TestGateIsPerOrganization checks that the switches of an organization affect neither its sandbox
// nor other organizations. Only the state also applies to the sandbox.
func TestGateIsPerOrganization(t *testing.T) {
	o := office(t)
	live, test := liveKey(t, o), o.As(access.Member)
	other, _ := o.Organization("Kanzlei Abendroth")
	stranger := o.User(access.Member, other)
	foreign := &apitest.Client{Office: o, Principal: stranger, Key: o.Key(stranger)}
	for _, row := range []struct {
		cell                cell
		live, test, foreign string
	}{
		{cell{"off", "declared", access.On, access.Open}, "403 API_MODULE_DISABLED", "200", "200"},
		{cell{"on", "declared", access.Off, access.Open}, "401 UNAUTHENTICATED", "200", "200"},
		{cell{"on", "declared", access.On, access.Closed}, "403 FORBIDDEN", "403 FORBIDDEN", "200"},
		{cell{"on", "declared", access.On, access.Open}, "200", "200", "200"},
	} {
		row.cell.set(t, o, o.ID)
		for _, who := range []struct {
			*apitest.Client
			want string
		}{{live, row.live}, {test, row.test}, {foreign, row.foreign}} {
			if got := said(who.Do("GET", "/contacts", nil)); got != who.want {
				t.Errorf("%+v: %s, want %s", row.cell, got, who.want)
			}
		}
	}
}

// TestModuleOff checks changes that are made while the module is off, such as changes in the web
// application. They never emit events. A later sync by updatedSince finds all of them.
func TestModuleOff(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		var kept, changed, gone string
		for _, name := range []*string{&kept, &changed, &gone} {
			*name = c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		}
		before := c.Do("GET", "/contacts?limit=1", nil).Want(200).Data()[0]["updatedAt"].(string)
		feed := c.Do("GET", "/events?sort=createdAt", nil).Want(200)
		for _, off := range []cell{
			{"off", "declared", access.On, access.Open},
			{"on", "undeclared", access.On, access.Open},
		} {
			off.set(t, o, o.SandboxID)
			c.Do("GET", "/contacts", nil).Want(403, "API_MODULE_DISABLED")
			var made string
			c.Inside(func(ctx context.Context, call *op.Call) error {
				last := "Thal"
				f := contact.Fields{LastName: &last}
				created, err := contact.Contacts.Create(ctx, call, &f)
				made = strings.TrimPrefix(created.Location(), "/contacts/")
				return err
			})
			c.Inside(func(ctx context.Context, call *op.Call) error {
				in := record.UpdateInput[contact.Fields]{ID: changed}
				in.Patch.SetRaw([]byte(`{"note":"` + off.module + `"}`))
				_, err := contact.Contacts.Update(ctx, call, in)
				return err
			})
			if off.module == "off" {
				c.Inside(func(ctx context.Context, call *op.Call) error {
					_, err := contact.Contacts.Delete(ctx, call, op.ByID{ID: gone})
					return err
				})
			}
			cell{"on", "declared", access.On, access.Open}.set(t, o, o.SandboxID)
			var got []string
			for _, r := range c.Do("GET", "/contacts?sort=updatedAt&includeDeleted=true&updatedSince="+before,
				nil).Want(200).Data() {
				got = append(got, fmt.Sprint(r["id"], r["deleted"] == true))
				if at, is := r["updatedAt"].(string); is {
					before = at
				} else {
					before = r["deletedAt"].(string)
				}
			}
			want := []string{made + "false", changed + "false"}
			if off.module == "off" {
				want = append(want, gone+"true")
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("sync after %+v: %q, want %q", off, got, want)
			}
			if a := c.Do("GET", "/events?sort=createdAt", nil).Want(200); fmt.Sprint(a.Data()) != fmt.Sprint(feed.Data()) {
				t.Errorf("the feed has changed: %s", a.Body)
			}
			if a := c.Do("GET", "/events?sort=createdAt&cursor="+feed.Text("nextCursor"), nil).Want(200); len(a.Data()) != 0 {
				t.Errorf("the feed goes on with %s", a.Body)
			}
		}
		c.Do("PATCH", "/contacts/"+kept, `{"note":"on"}`, "If-Match", "*").Want(200)
		if a := c.Do("GET", "/events?sort=createdAt&cursor="+feed.Text("nextCursor"), nil).Want(200); len(a.Data()) != 1 {
			t.Errorf("the feed goes on with %s", a.Body)
		}
	})
}
