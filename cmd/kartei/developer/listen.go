package developer

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kartei/cmd/kartei/command"
	"kartei/cmd/remote"
	"kartei/integration/webhook"
	"kartei/kit/clock"
)

// Listen is the command that posts the events of an instance to a local address.
type Listen struct {
	command.InstanceFlags
	Forward string         `name:"forward" required:"" placeholder:"URL" help:"Where each event is posted, for example http://localhost:3000/hook."`
	Events  []string       `name:"events" placeholder:"TYPE" help:"Only these types of events, separated by commas. The position passes the others."`
	Secret  string         `name:"secret" placeholder:"whsec_..." help:"The secret that signs the events. By default a new one is made and kept in the file of --place."`
	Since   command.Moment `name:"since" placeholder:"TIME" help:"Begin with the events since this time: 2026-11-01T09:00:00Z, or 24h for the last 24 hours."`
	Place   string         `name:"place" placeholder:"FILE" help:"File that keeps the position in the feed."`
	command.JSON
}

// Help returns the help text below the summary.
func (*Listen) Help() string {
	return `For developing a receiver of webhooks on a machine that no instance can reach. Each event that
the key's principal sees is posted once, signed like a delivery, and printed with the status of the
answer. An answer other than 2xx is printed and not tried again. If the receiver is away, the
command waits for it. The first start begins with new events. A later one with the same instance,
principal and --forward begins where the last one ended: the position and the secret are in
kartei/listen-... under $XDG_STATE_HOME (or ~/.local/state) unless --place names a file.`
}

// listenPlace is the content of the position file.
type listenPlace struct {
	remote.Place
	Secret string `json:"secret"`
}

// Run forwards events until ctx ends.
func (c *Listen) Run(ctx context.Context, g *command.Globals) error {
	for _, t := range c.Events {
		if !slices.Contains(remote.Types(), t) {
			return command.Usagef("--events: there is no event type %q; there are %s", t, strings.Join(remote.Types(), ", "))
		}
	}
	client, err := c.NewClient(g, 0)
	if err != nil {
		return err
	}
	if _, err := remote.NewReceiver(c.Forward, nil, clock.System); err != nil {
		return command.Usagef("--forward: %w", err)
	}
	if c.Secret != "" {
		if _, err := webhook.ParseSecret(c.Secret); err != nil {
			return command.Usagef("--secret: %w", err)
		}
	}
	me, err := client.Me(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	l := listener{Globals: g, json: c.JSON.JSON, file: c.Place, events: c.Events}
	if l.file == "" {
		if l.file, err = c.defaultPlace(g, client.Base(), me); err != nil {
			return err
		}
	}
	secret, resumed, err := l.open(ctx, c, client)
	if err != nil {
		return interrupted(ctx, err)
	}
	if l.receiver, err = remote.NewReceiver(c.Forward, secret, clock.System); err != nil {
		return err
	}
	if !me.SeesRecords() {
		fmt.Fprintln(g.Err, "This key may not read contacts, companies, tasks or documents, so it gets no events about them. Use another key, for example one with contacts:read.")
	}
	if err := l.begin(client.Base(), me, c.Forward, resumed); err != nil {
		return err
	}
	return interrupted(ctx, client.Follow(ctx, l.place.Place, l.handle, l.save))
}

// interrupted returns nil if ctx has ended, and otherwise err.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = nil
	}
	return err
}

// defaultPlace returns the default path of the position file. The path depends on the user, the
// instance, the principal and the receiver, but not on the key.
func (c *Listen) defaultPlace(g *command.Globals, base string, me remote.Me) (string, error) {
	state, found := g.Environ("XDG_STATE_HOME")
	if !found || !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("there is no home folder for the position in the feed (%w); name a file for it with --place", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{base, me.Organization.ID, me.PrincipalID, c.Forward}, "\n")))
	return filepath.Join(state, "kartei", "listen-"+hex.EncodeToString(sum[:8])+".json"), nil
}

// listener posts events to a receiver and prints the responses.
type listener struct {
	*command.Globals
	json     bool
	file     string
	place    listenPlace
	events   []string
	receiver *remote.Receiver
}

// open reads the position and the secret from the file, or creates new ones. resumed says that the
// file existed.
func (l *listener) open(
	ctx context.Context, c *Listen, client *remote.Client,
) (s webhook.Secret, resumed bool, err error) {
	b, err := os.ReadFile(l.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, false, err
	case json.Unmarshal(b, &l.place) != nil:
		return nil, false, fmt.Errorf("%s was not written by kartei listen; remove it or name another file with --place",
			l.file)
	default:
		resumed = true
	}
	switch {
	case c.Since.Micros != 0:
		l.place.Place = remote.Place{Since: c.Since.Micros}
	case !resumed:
		if l.place.Place, err = client.Newest(ctx); err != nil {
			return nil, false, err
		}
	}
	l.place.Secret = cmp.Or(c.Secret, l.place.Secret)
	if l.place.Secret == "" {
		made, err := webhook.NewSecret(rand.Reader)
		if err != nil {
			return nil, false, err
		}
		l.place.Secret = made.Reveal()
	}
	if s, err = webhook.ParseSecret(l.place.Secret); err != nil {
		return nil, false, fmt.Errorf("%s: %w", l.file, err)
	}
	return s, resumed, l.save(l.place.Place)
}

// save replaces the position file atomically. Only the owner can read the file, because it contains
// the secret.
func (l *listener) save(p remote.Place) error {
	l.place.Place = p
	b, err := json.Marshal(l.place)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
		return fmt.Errorf("the position in the feed cannot be saved: %w; name another file with --place", err)
	}
	if err := os.WriteFile(l.file+".new", append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("the position in the feed cannot be saved: %w; name another file with --place", err)
	}
	return os.Rename(l.file+".new", l.file)
}

// listenLine is the first line of the output with --json.
type listenLine struct {
	Object         string       `json:"object"`
	BaseURL        string       `json:"baseUrl"`
	OrganizationID string       `json:"organizationId"`
	PrincipalID    string       `json:"principalId"`
	Forward        string       `json:"forward"`
	Secret         string       `json:"secret"`
	Place          string       `json:"place"`
	Since          clock.Micros `json:"since"`
	Resumed        bool         `json:"resumed"`
}

func (l *listener) begin(base string, me remote.Me, forward string, resumed bool) error {
	if l.json {
		return l.PrintJSON(listenLine{
			"listener", base, me.Organization.ID, me.PrincipalID, forward, l.place.Secret, l.file, l.place.Since,
			resumed,
		})
	}
	from := "from now on"
	if l.place.Since != 0 {
		from = "after " + l.place.Since.String()
	}
	_, err := fmt.Fprintf(l.Out, `Following what this key of %s sees of %s at %s, %s.
Posting to %s, signed with %s
The position in the feed is kept in %s.

`, me.PrincipalName, me.Organization.Name, base, from, forward, l.place.Secret, l.file)
	return err
}

// forwardLine is the line of an event in the output with --json.
type forwardLine struct {
	Object     string       `json:"object"`
	At         clock.Micros `json:"at"`
	EventID    string       `json:"eventId"`
	EventType  string       `json:"eventType"`
	RecordID   string       `json:"recordId"`
	RequestID  *string      `json:"requestId"`
	Revision   *int64       `json:"revision"`
	Changed    []string     `json:"changed"`
	Status     int          `json:"status"`
	TookMillis int64        `json:"tookMs"`
	Error      string       `json:"error"`
}

// handle posts an event. If the receiver is unreachable, handle tries again until it answers.
func (l *listener) handle(ctx context.Context, e remote.Event) error {
	if len(l.events) > 0 && !slices.Contains(l.events, e.Type) {
		return nil
	}
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 4*time.Second) {
		status, took, err := l.receiver.Post(ctx, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, remote.ErrAway) {
			return l.tell(e, status, took, err)
		}
		if pause == 250*time.Millisecond {
			fmt.Fprintf(l.Err, "%v; waiting for it with %s.\n", err, e.ID)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (l *listener) tell(e remote.Event, status int, took time.Duration, err error) error {
	now := clock.Now(clock.System)
	if l.json {
		line := forwardLine{
			Object: "forwarded", At: now, EventID: e.ID, EventType: e.Type, RecordID: e.Data.ID, RequestID: e.RequestID,
			Revision: e.Data.Revision, Changed: e.Data.Changed, Status: status, TookMillis: took.Milliseconds(),
		}
		if err != nil {
			line.Error = err.Error()
		}
		return l.PrintJSON(line)
	}
	result := fmt.Sprint(status)
	switch {
	case err != nil:
		result = err.Error()
	case status < 200 || status > 299:
		result += " (not tried again)"
	}
	changed := ""
	if len(e.Data.Changed) > 0 {
		changed = "  changed " + strings.Join(e.Data.Changed, ", ")
	}
	_, err = fmt.Fprintf(l.Out, "%s  %-19s  %s  %s  %s  %d ms%s\n", now.Time().Local().Format(time.TimeOnly), e.Type,
		e.Data.ID, e.ID, result, took.Milliseconds(), changed)
	return err
}
