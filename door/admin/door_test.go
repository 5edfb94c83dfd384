package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/instance"
	keys "kartei/integration/key"
	"kartei/integration/oauth"
	"kartei/integration/webhook"
	"kartei/kit/fault"
	"kartei/people/invitation"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// dial serves the operations of o on a socket and returns a client for it.
func dial(t *testing.T, o *apitest.Office) *socket.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "kartei") // the path of t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := must(socket.Listen(dir))
	serving, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- socket.Serve(serving, l, &admin.Door{API: o.API}) }()
	client := must(socket.Dial(dir))
	t.Cleanup(func() {
		client.Close()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return client
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestFaultsOfOperations checks that faults are the same in this process and through the socket:
// their code, their fields and their texts. Unknown members of the input are refused.
func TestFaultsOfOperations(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	for name, caller := range map[string]socket.Caller{"here": &admin.Door{API: o.API}, "there": dial(t, o)} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				operation string
				in        any
				code      fault.Code
				want      string
			}{
				{"organizations.get", op.ByID{ID: "org_x"}, fault.NotFound, "There is no organization with this id"},
				{
					"people.create",
					principal.New{Organization: o.ID, Name: "Ida", Email: "ida"},
					fault.ValidationFailed,
					"--email: The format is not valid. Expected: name@example.org",
				},
				{"keys.list", map[string]string{"limits": "5"}, fault.InvalidRequest, "limits: "},
				{"keys.list", map[string]string{"limit": "5"}, fault.InvalidRequest, "limit: "},
				{
					"contacts.list",
					map[string]string{},
					"",
					`admin: this release has no command "contacts.list"; use a server and a command of the same release`,
				},
			} {
				err := caller.Call(t.Context(), c.operation, c.in, nil)
				if err == nil || c.code != "" && !fault.Is(err, c.code) ||
					!strings.HasPrefix(socket.Sentence(err, map[string]string{"email": "--email"}), c.want) {
					t.Errorf("%s: %v", c.operation, err)
				}
			}
		})
	}
}

// TestOperations runs the operations for operators through the socket, from a new organization to a
// revoked key.
func TestOperations(t *testing.T) {
	client := dial(t, apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1)))
	org := call(t, client, organization.Create, organization.New{Name: "Kanzlei"})
	on, level, declared := "on", access.On, "declared"
	call(t, client, oauth.SetOrganization, organization.Change{ID: org.ID, Module: &on, Secrecy: &declared, Level: &level})
	org = call(t, client, organization.Get, op.ByID{ID: org.ID}).OrganizationInfo
	if org.Module != "on" || org.SandboxID == "" || org.CreatedAt == 0 {
		t.Errorf("organization: %+v", org)
	}
	user := call(t, client, principal.CreateUser, principal.New{
		Organization: org.ID, Name: "Ida", Email: "ida@example.org",
	})
	user = call(t, client, principal.SetUser, principal.Change{
		ID:     user.ID,
		Rights: access.Rights{"tasks": access.NoRight},
	})
	robot := call(t, client, principal.CreateServiceAccount, principal.New{Organization: org.ID, Name: "Abgleich"})
	call(t, client, principal.SetServiceAccount, principal.Change{ID: robot.ID, Name: &on})
	key := call(t, client, keys.Create, keys.New{Organization: org.ID, Principal: user.ID, Environment: access.Test,
		Scopes: []string{"contacts:write"}, Networks: []string{"127.0.0.1"}, ExpiresIn: time.Hour})
	text := string(must(json.Marshal(key)))
	if diff := cmp.Diff([]string{"id", "key", "kidShort", "expiresAt"}, members(text)); diff != "" {
		t.Errorf("%s: %s", text, diff)
	}
	orgs := call(t, client, organization.List, op.Page{})
	users := call(t, client, principal.ListUsers, op.Page{Organization: org.ID})
	robots := call(t, client, principal.ListServiceAccounts, op.Page{Organization: org.ID})
	ofOrg := call(t, client, keys.List, keys.FindInput{Page: op.Page{Organization: org.ID}})
	if len(orgs.Data) != 4 || len(users.Data) != 1 || len(robots.Data) != 1 || len(ofOrg.Data) != 1 ||
		users.Data[0].Rights["tasks"] != access.NoRight {
		t.Errorf("lists: %+v %+v %+v %+v", orgs, users, robots, ofOrg)
	}
	id := op.ByID{ID: key.ID}
	for _, c := range []struct {
		does op.Operation[op.ByID, keys.Info]
		want keys.Status
	}{
		{keys.Pause, keys.Paused}, {keys.Get, keys.Paused},
		{keys.Resume, keys.Active}, {keys.Get, keys.Active},
	} {
		if k := call(t, client, c.does, id); k.Status != c.want {
			t.Errorf("%s: %s", c.does.ID, k.Status)
		}
	}
	next := call(t, client, keys.Rotate, keys.Rotation{ID: key.ID})
	if next.ID != key.ID || next.Key == key.Key {
		t.Errorf("rotated: %+v", next)
	}
	call(t, client, webhook.RevokeKey, webhook.RevokeInput{ID: key.ID})
}

// TestNoAnswer checks that an operation without a result can be called in this process and through
// the socket.
func TestNoAnswer(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	for _, caller := range []socket.Caller{&admin.Door{API: o.API}, dial(t, o)} {
		made := call(t, caller, invitation.Create, invitation.New{Organization: o.ID, Email: "ida@example.org"})
		call(t, caller, invitation.Revoke, op.ByID{ID: made.ID})
		if _, err := admin.Call(t.Context(), caller, invitation.Revoke,
			op.ByID{ID: "inv_x"}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%T: %v", caller, err)
		}
	}
}

// call runs an operation and fails the test if it returns an error.
func call[In, Out any](t *testing.T, caller socket.Caller, o op.Operation[In, Out], in In) Out {
	t.Helper()
	out, err := admin.Call(t.Context(), caller, o, in)
	if err != nil {
		t.Fatalf("%s: %v", o.ID, err)
	}
	return out
}

// members returns the names of the members of a JSON object, in order.
func members(text string) (names []string) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.Token()
	for decoder.More() {
		name, _ := decoder.Token()
		names = append(names, name.(string))
		decoder.Token()
	}
	return names
}

// fullDB is a database that refuses writes if full is set.
type fullDB struct {
	db.DB
	full bool
	away error // returned by reads, if set
}

func (r *fullDB) Read(ctx context.Context, f func(db.Tx) error) error {
	if r.away != nil {
		return r.away
	}
	return r.DB.Read(ctx, f)
}

func (r *fullDB) Write(ctx context.Context, f func(db.Tx) error) error {
	if r.full {
		return fmt.Errorf("%w: no room", db.ErrRefused)
	}
	return r.DB.Write(ctx, f)
}

func (r *fullDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if r.full {
		return fmt.Errorf("%w: no room", db.ErrRefused)
	}
	return r.DB.WriteIn(ctx, organization, f)
}

// TestRefusedWritesSayWhy checks that the operator sees the reason if the database refuses writes.
func TestRefusedWritesSayWhy(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		full := &fullDB{DB: d}
		o := apitest.New(t, full)
		door := &admin.Door{API: o.API, Explain: instance.Explain(func() error {
			return errors.New("the disk of /data is full")
		}), Acts: socket.Acts{
			"pause": socket.Do(func(ctx context.Context, _ struct{}) (struct{}, error) {
				return struct{}{}, full.Write(ctx, func(db.Tx) error { return nil })
			}),
		}}
		for name, in := range map[string]any{"organizations.create": organization.New{Name: "Voll"}, "pause": struct{}{}} {
			full.full = true
			err := door.Call(t.Context(), name, in, nil)
			if text := socket.Sentence(err, nil); !strings.Contains(text, "the disk of /data is full") ||
				strings.Contains(text, "a little later") {
				t.Errorf("%s: %s", name, text)
			}
			if full.full = false; door.Call(t.Context(), name, in, nil) != nil {
				t.Errorf("%s is still refused", name)
			}
		}
		full.away = fmt.Errorf("%w: connection refused by db.internal", db.ErrUnavailable)
		if err := door.Call(t.Context(), "organizations.list", op.Page{},
			nil); !strings.Contains(socket.Sentence(err, nil), "connection refused by db.internal") {
			t.Errorf("database away: %v", err)
		}
	})
}
