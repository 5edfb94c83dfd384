package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"kartei/access"
	"kartei/instance/config"
	"kartei/instance/files"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/audit"
	"kartei/store/db"
	"kartei/store/db/move"
)

const (
	// maxActs bounds the acts that a restore compares: the newest of each
	// organization.
	maxActs = 1000

	selectAuditedOrgs = `select number, id from organizations`
)

// aboutAccess are the first words of acts that change keys and rights.
var aboutAccess = []string{
	"account", "client", "grant", "invitation", "key", "organization", "person", "serviceAccount",
}

// Acts returns the newest acts about keys and rights, the newest first. A restore
// calls it before it replaces a database, and Lost afterwards. If there is no
// readable database, it returns none.
func Acts(ctx context.Context, store *config.Store) ([]audit.Line, error) {
	// The state of migrations is not asked, because asking makes a table: a database
	// that is still empty would no longer be one.
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

// Lost returns the acts in before that the restored database does not know, because
// they came after its copy was made. A key that was revoked is valid again.
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

// RestoredKey returns an error if a server cannot start on a database that was just
// restored, because its master key is not there, or is another one.
func RestoredKey(ctx context.Context, store *config.Store, s *config.Server) error {
	var known string
	d, done, err := openData(ctx, store, begun)
	if err == nil {
		defer done()
		err = d.Read(ctx, func(tx db.Tx) (err error) {
			known, err = access.Setting(ctx, tx, keySetting)
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

// endings are what a restored database begins with. $1 is the time. All sessions,
// grants, links, invitations and recovery codes end, and devices are forgotten: some
// of them were used or ended after the copy was made, and each of these serves once.
// The place of the files is cleared, since the copy names the original one.
var endings = []move.Change{
	{Table: "sessions", Statement: `update sessions set ended_at = $1 where ended_at = 0`},
	{Table: "oauth_grants", Statement: `update oauth_grants set ended_at = $1, expires_at = case when expires_at < $1 then expires_at else $1 end where ended_at = 0`},
	{Table: "sign_in_tickets", Statement: `delete from sign_in_tickets`},
	{Table: "invitations", Statement: `delete from invitations`},
	{Table: "recovery_codes", Statement: `delete from recovery_codes`},
	{Table: "devices", Statement: `delete from devices`},
	{Table: "settings", Statement: `update settings set value = '' where name = '` + files.PlaceSetting + `'`},
}

// Restore replaces the database of a store with a copy, see move.Restore. Whatever
// gives access for a while has ended in it from its first moment, even if this
// process is killed or the disk is full.
func Restore(
	ctx context.Context, store *config.Store, from string, force bool, identities move.Identities,
) (aside string, err error) {
	// Neither engine takes parameters here; the time is a number of this process.
	now := strconv.FormatInt(int64(clock.Now(clock.System)), 10)
	changes := slices.Clone(endings)
	for i := range changes {
		changes[i].Statement = strings.ReplaceAll(changes[i].Statement, "$1", now)
	}
	return move.RestoreWith(ctx, from, store.Database(), force, identities, changes)
}

// Restored audits a restore. A copy of another release keeps no line.
func Restored(ctx context.Context, store *config.Store, from string) error {
	d, done, err := openData(ctx, store, begun)
	if err != nil {
		return err
	}
	defer done()
	act{name: "restore", word: "instance.restore", target: from}.beginAnyway(ctx, d, clock.System)
	return nil
}
