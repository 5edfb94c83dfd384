package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"kartei/instance/config"
	"kartei/instance/files"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/audit"
	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/store/setting"
)

const (
	// maxActs is the maximum number of acts that a restore compares, the newest first.
	maxActs = 1000

	selectAuditedOrgs = `select number, id from organizations`
)

// aboutAccess are the first parts of the audit words for changes of keys and permissions.
var aboutAccess = []string{
	"account", "client", "grant", "invitation", "key", "organization", "person", "serviceAccount",
}

// Acts returns the newest audit lines about keys and permissions, the newest first. A restore calls
// Acts before it replaces the database, and then passes the lines to Lost. Acts returns an error if
// it cannot read the database.
func Acts(ctx context.Context, store *config.Store) ([]audit.Line, error) {
	// The state of migrations is not read, because reading it creates a table. An empty database
	// would not be empty afterwards.
	d, done, err := openData(ctx, store, func(context.Context, db.DB) error { return nil })
	if err != nil {
		return nil, err
	}
	defer done()
	return accessActs(ctx, d)
}

func accessActs(ctx context.Context, d db.DB) (lines []audit.Line, err error) {
	err = d.Read(ctx, func(tx db.Tx) error {
		organizations := map[int64]string{audit.Instance: ""}
		if _, err := db.List(ctx, tx, func(row db.Row) (none struct{}, err error) {
			var number int64
			var name string
			err = row.Scan(&number, &name)
			organizations[number] = name
			return none, err
		}, selectAuditedOrgs); err != nil {
			return err
		}
		lines, err = audit.Query(ctx, tx, organizations, audit.Filter{Limit: maxActs})
		return err
	})
	return slices.DeleteFunc(lines, func(l audit.Line) bool {
		first, _, _ := strings.Cut(l.Word, ".")
		return !slices.Contains(aboutAccess, first)
	}), err
}

// Lost returns the lines of before that the restored database does not have. They are newer than
// the copy. For example, a key that was revoked after the copy is valid again.
func Lost(ctx context.Context, store *config.Store, before []audit.Line) ([]audit.Line, error) {
	if len(before) == 0 {
		return []audit.Line{}, nil
	}
	known, err := Acts(ctx, store)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, l := range known {
		has[l.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(before), func(l audit.Line) bool { return has[l.ID] }), nil
}

// RestoredKey returns an error if the master key does not fit a restored database or is missing. A
// server could not start.
func RestoredKey(ctx context.Context, store *config.Store, s *config.Server) error {
	var known string
	d, done, err := openData(ctx, store, begun)
	if err == nil {
		defer done()
		err = d.Read(ctx, func(tx db.Tx) (err error) {
			known, err = setting.Get(ctx, tx, keySetting)
			return err
		})
	}
	if err != nil || known == "" {
		return err
	}
	path := s.MasterKey(store)
	key, err := masterkey.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no master key in %s", path)
	}
	if err != nil {
		return err
	}
	previous, err := previousKeys(s.PreviousMasterKeyFiles)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(append(previous, key), func(k *masterkey.Key) bool { return fingerprint(k) == known }) {
		return fmt.Errorf("the master key in %s is another one than the database was used with", path)
	}
	return nil
}

// endings are the changes of a restored database. $1 is the time. They end all sessions, grants,
// links, invitations and recovery codes, and delete remembered devices. Some of these were used or
// ended after the copy was made, and would be valid again. The place of the files is cleared, since
// the copy has the place of the original database.
var endings = []move.Change{
	{Table: "sessions", Statement: `update sessions set ended_at = $1 where ended_at = 0`},
	{Table: "oauth_grants", Statement: `update oauth_grants set ended_at = $1, expires_at = case when expires_at < $1 then expires_at else $1 end where ended_at = 0`},
	{Table: "sign_in_tickets", Statement: `delete from sign_in_tickets`},
	{Table: "invitations", Statement: `delete from invitations`},
	{Table: "recovery_codes", Statement: `delete from recovery_codes`},
	{Table: "devices", Statement: `delete from devices`},
	{Table: "settings", Statement: `update settings set value = '' where name = '` + files.PlaceSetting + `'`},
}

// Restore replaces the database of a store by a copy, see move.RestoreWith. It applies the changes
// in endings before the copy becomes the database, even if this process is killed or the disk is
// full. It returns the path of the old database, if it was moved aside.
func Restore(
	ctx context.Context, store *config.Store, from string, force bool, identities move.Identities,
) (aside string, err error) {
	// These statements cannot have parameters. So the time is written into them.
	now := strconv.FormatInt(int64(clock.Now(clock.System)), 10)
	changes := slices.Clone(endings)
	for i := range changes {
		changes[i].Statement = strings.ReplaceAll(changes[i].Statement, "$1", now)
	}
	return move.RestoreWith(ctx, from, store.Database(), force, identities, changes)
}

// Restored appends the line about a restore to the audit log. If the copy has the schema of another
// release, it logs a warning instead.
func Restored(ctx context.Context, store *config.Store, from string) error {
	d, done, err := openData(ctx, store, begun)
	if err != nil {
		return err
	}
	defer done()
	act{name: "restore", word: "instance.restore", target: from}.beginAnyway(ctx, d, clock.System)
	return nil
}
