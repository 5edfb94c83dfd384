// Package integration owns the commands for keys, applications and webhooks, and for the calls that they make.
package integration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/instance"
	"kartei/integration/key"
	"kartei/integration/webhook"
)

// Key has the commands for API keys.
type Key struct {
	Create keyCreateCmd `cmd:"" help:"Create an API key. The secret is shown only now."`
	List   keyListCmd   `cmd:"" help:"List keys."`
	Show   keyShowCmd   `cmd:"" help:"Show one key, without its secret."`
	Set    keySetCmd    `cmd:"" help:"Change a key: name, networks, expiry, version pin."`
	Pause  keyPauseCmd  `cmd:"" help:"Refuse a key until it is resumed."`
	Resume keyResumeCmd `cmd:"" help:"End the pause of a key."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke a key permanently."`
	Rotate keyRotateCmd `cmd:"" help:"Give a key a new secret; the old one ends at once."`
}

// lifetime is a flag with a duration, which can be in days.
type lifetime time.Duration

// UnmarshalText parses a duration such as 30d, 720h or 90m.
func (l *lifetime) UnmarshalText(text []byte) error {
	days, inDays := strings.CutSuffix(string(text), "d")
	if n, err := strconv.Atoi(days); inDays && err == nil && n >= 0 && n < 10_000 {
		*l = lifetime(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30d, 12h or 90m", text)
	}
	*l = lifetime(d)
	return nil
}

type keyCreateCmd struct {
	Org       string   `name:"org" required:"" placeholder:"ORG" help:"The organization, org_...; a test key is bound to its sandbox."`
	Principal string   `name:"principal" required:"" placeholder:"ID" help:"The user or service account of the key, usr_... or svc_..."`
	Env       string   `name:"env" required:"" placeholder:"test|live" help:"test for the sandbox, live for the organization itself."`
	Scopes    []string `name:"scopes" required:"" placeholder:"FAMILY:read|write" help:"What the key may do, for example contacts:read,contacts:write."`
	IP        []string `name:"ip" placeholder:"CIDR" help:"Addresses or networks from which the key may be used; required if a scope writes."`
	ExpiresIn lifetime `name:"expires-in" default:"30d" placeholder:"TIME" help:"The key's lifetime, for example 30d or 12h, at most 366d."`
	Pin       string   `name:"pin" placeholder:"YYYY-MM-DD" help:"The version of the API that the key uses unless a call names another; the current one by default."`
	Name      string   `name:"name" placeholder:"NAME" help:"Name to show."`
	command.JSON
}

// Run creates a key and prints it.
func (c *keyCreateCmd) Run(ctx context.Context, g *command.Globals) error {
	if c.ExpiresIn == 0 { // the operation treats 0 as a missing value
		return command.Usagef("--expires-in: must be at least one second")
	}
	in := key.New{
		Organization: c.Org, Principal: c.Principal, Environment: c.Env, Name: c.Name,
		Scopes: c.Scopes, Networks: c.IP, ExpiresIn: time.Duration(c.ExpiresIn), VersionPin: c.Pin,
	}
	k, err := command.Call(ctx, g, key.Create, in)
	if err != nil {
		return err
	}
	return showSecret(ctx, g, c.JSON, k)
}

type keyListCmd struct {
	Org string `name:"org" placeholder:"ORG" help:"Only keys of this organization and its sandbox."`
	command.PageFlags
	command.JSON
}

// Run lists keys.
func (c *keyListCmd) Run(ctx context.Context, g *command.Globals) error {
	page, err := command.Call(ctx, g, key.List, key.FindInput{Page: c.Page(c.Org)})
	if err != nil {
		return err
	}
	return command.PrintList(g, c.JSON, page, keyHeader, keyRow)
}

// oneKey are the arguments of commands for one key.
type oneKey struct {
	ID string `arg:"" help:"The key, key_..., or the 8 characters by which alerts and the log name it."`
	command.JSON
}

func (c *oneKey) show(ctx context.Context, g *command.Globals, o op.Operation[op.ByID, key.Info]) error {
	k, err := command.Call(ctx, g, o, op.ByID{ID: c.ID})
	if err != nil {
		return err
	}
	return command.PrintOne(g, c.JSON, k, keyHeader, keyRow)
}

type (
	keyShowCmd   struct{ oneKey }
	keyPauseCmd  struct{ oneKey }
	keyResumeCmd struct{ oneKey }
)

// Run prints a key.
func (c *keyShowCmd) Run(ctx context.Context, g *command.Globals) error {
	return c.show(ctx, g, key.Get)
}

// Run pauses a key.
func (c *keyPauseCmd) Run(ctx context.Context, g *command.Globals) error {
	return c.show(ctx, g, key.Pause)
}

// Run resumes a key.
func (c *keyResumeCmd) Run(ctx context.Context, g *command.Globals) error {
	return c.show(ctx, g, key.Resume)
}

type keyRevokeCmd struct {
	oneKey
	Endpoints string `name:"endpoints" enum:"keep,disable" default:"keep" placeholder:"keep|disable" help:"Whether the webhook endpoints that the key made are kept or disabled."`
}

// Help returns the help text below the summary.
func (*keyRevokeCmd) Help() string {
	return `Webhook endpoints belong to the person or service account of the key, and go on without it. The
command names the endpoints that the key made. It can be repeated for a revoked key.`
}

// Run revokes a key.
func (c *keyRevokeCmd) Run(ctx context.Context, g *command.Globals) error {
	k, err := command.Call(ctx, g, webhook.RevokeKey, webhook.RevokeInput{ID: c.ID, Endpoints: c.Endpoints})
	if err != nil {
		return err
	}
	row := func(k webhook.RevokedKey) []string { return keyRow(k.Info) }
	if err := command.PrintOne(g, c.JSON, k, keyHeader, row); err != nil {
		return err
	}
	for _, e := range k.Endpoints {
		state := string(e.Status)
		if e.DisabledReason != nil {
			state += ", " + string(*e.DisabledReason)
		}
		if _, err := fmt.Fprintf(g.Err, "Made by this key: webhook endpoint %s (%s), %s\n", e.ID, state, e.URL); err != nil {
			return err
		}
	}
	return tellEndpoints(ctx, g, k.ID)
}

// tellEndpoints prints how many webhook endpoints of the key's owner still receive events.
// Endpoints belong to the owner, not to the key. After a leak all of them matter, because the key
// may have changed an endpoint that another key created.
func tellEndpoints(ctx context.Context, g *command.Globals, id string) error {
	var page op.Entries[webhook.Info]
	k, err := command.Call(ctx, g, key.Get, op.ByID{ID: id})
	if err == nil {
		page, err = command.Call(ctx, g, webhook.ListInfos, webhook.FindInput{
			Organization: k.OrganizationID, Principal: k.PrincipalID, Limit: webhook.MaxEndpoints,
		})
	}
	if err != nil {
		return fmt.Errorf("the key was changed, but the webhook endpoints of its owner could not be read: %w", err)
	}
	on := slices.DeleteFunc(page.Data, func(e webhook.Info) bool { return e.Status == webhook.Disabled })
	if len(on) == 0 {
		return nil
	}
	_, err = fmt.Fprintf(g.Err, "Webhook endpoints of %s that still get events: %d. List them: kartei webhook list --org %s --principal %[1]s\n",
		k.PrincipalID, len(on), k.OrganizationID)
	return err
}

type keySetCmd struct {
	ID        string    `arg:"" help:"The key, key_..., or the 8 characters by which alerts and the log name it."`
	Name      *string   `name:"name" placeholder:"NAME" help:"Name to show."`
	IP        *[]string `name:"ip" placeholder:"CIDR" help:"Addresses or networks from which the key may be used. They replace the earlier ones."`
	ExpiresIn *lifetime `name:"expires-in" placeholder:"TIME" help:"A new lifetime from now, for example 30d, at most 366d."`
	Pin       *string   `name:"pin" placeholder:"YYYY-MM-DD" help:"The version of the API that the key uses unless a call names another."`
	command.JSON
}

// Run changes a key.
func (c *keySetCmd) Run(ctx context.Context, g *command.Globals) error {
	in := key.Change{ID: c.ID, Name: c.Name, Networks: c.IP}
	// The operation treats an empty value as a missing value.
	switch {
	case c.Name == nil && c.IP == nil && c.ExpiresIn == nil && c.Pin == nil:
		return command.NothingToSet("--name, --ip, --expires-in or --pin")
	case empty(c.IP):
		return command.Usagef("--ip: is empty, so nothing would change; give the addresses or networks from which the key may be used")
	case c.ExpiresIn != nil && *c.ExpiresIn == 0:
		return command.Usagef("--expires-in: must be at least one second")
	case c.Pin != nil && *c.Pin == "":
		return command.Usagef("--pin: is empty, so nothing would change; give a version, YYYY-MM-DD")
	}
	if c.ExpiresIn != nil {
		in.ExpiresIn = time.Duration(*c.ExpiresIn)
	}
	if c.Pin != nil {
		in.VersionPin = *c.Pin
	}
	k, err := command.Call(ctx, g, key.Update, in)
	if err != nil {
		return err
	}
	return command.PrintOne(g, c.JSON, k, keyHeader, keyRow)
}

// empty reports whether a list was given but has no entries.
func empty(list *[]string) bool {
	return list != nil && !slices.ContainsFunc(*list, func(s string) bool { return strings.TrimSpace(s) != "" })
}

type keyRotateCmd struct {
	ID        string   `arg:"" help:"The key, key_..., or the 8 characters by which alerts and the log name it."`
	ExpiresIn lifetime `name:"expires-in" placeholder:"TIME" help:"A new lifetime from now, for example 30d; without it the expiry stays."`
	command.JSON
}

// Run gives a key a new secret and prints it.
func (c *keyRotateCmd) Run(ctx context.Context, g *command.Globals) error {
	k, err := command.Call(ctx, g, key.Rotate, key.Rotation{ID: c.ID, ExpiresIn: time.Duration(c.ExpiresIn)})
	if err != nil {
		return err
	}
	if err := showSecret(ctx, g, c.JSON, k); err != nil {
		return err
	}
	return tellEndpoints(ctx, g, c.ID)
}

// showSecret prints a key with its secret.
func showSecret(ctx context.Context, g *command.Globals, j command.JSON, k key.WithSecret) error {
	if j.JSON {
		return g.PrintJSON(k)
	}
	_, err := fmt.Fprintf(g.Out, `%s

This is key %s, valid until %s. Keep it now: it is not shown again.
Try it at the address where the server serves:
  curl -H 'Authorization: Bearer %[1]s' %[4]s/v1/me
`, k.Key, k.ID, k.ExpiresAt, address(ctx, g))
	return err
}

// address returns the URL of the server that runs on the data. If no server runs, it returns the
// URL from the settings base-url or listen, or the default.
func address(ctx context.Context, g *command.Globals) string {
	var running instance.Address
	if err := g.Process(ctx, "address", instance.Nothing{}, &running); err == nil && running.BaseURL != "" {
		return running.BaseURL
	}
	if base, found := g.Setting("base-url"); found {
		return strings.TrimSuffix(base, "/")
	}
	if listen, found := g.Setting("listen"); found {
		return "http://" + listen
	}
	return "http://127.0.0.1:8080"
}

var keyHeader = []string{"ID", "KEY", "NAME", "ENV", "STATUS", "SCOPES", "NETWORKS", "PIN", "EXPIRES", "LAST USED"}

func keyRow(k key.Info) []string {
	networks := make([]string, len(k.Networks))
	for i, net := range k.Networks {
		networks[i] = net.String()
	}
	status := string(k.Status)
	if k.LockedUntil != 0 {
		status += ", locked until " + k.LockedUntil.Time().Format("15:04:05Z")
	}
	return []string{k.ID, "kart_" + k.Environment + "_" + k.KidShort + "...", k.Name, k.Environment, status,
		strings.Join(k.Scopes, ","), strings.Join(networks, ","), k.VersionPin, command.Minute(k.ExpiresAt), command.Minute(k.LastUsedAt)}
}
