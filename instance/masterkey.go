package instance

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/audit"
	"kartei/store/db"
)

// keySetting is the setting with the fingerprint of the master key. The
// fingerprint is not secret, since it reveals nothing about the key.
const keySetting = "master-key"

// ErrOtherMasterKey is returned, wrapped, if a database was last used with
// another master key.
var ErrOtherMasterKey = errors.New("the database was used with another master key")

// CheckMasterKey stores the fingerprint of the first server's master key in the
// database. It returns ErrOtherMasterKey to servers with another key, because
// replicas with different keys would refuse each other's cursors. If several
// servers start on a new database, the first one decides. If the fingerprint is a
// previous key's, the current key's replaces it, and the replacement is audited.
func CheckMasterKey(ctx context.Context, d db.DB, c clock.Clock, keys masterkey.Ring) error {
	mine := fingerprint(keys.Current)
	var known string
	err := d.Read(ctx, func(tx db.Tx) (err error) {
		known, err = access.Setting(ctx, tx, keySetting)
		return err
	})
	if err == nil && known == "" {
		err = d.Write(ctx, func(tx db.Tx) (err error) {
			known, err = access.ClaimSetting(ctx, tx, keySetting, mine)
			return err
		})
	}
	if err != nil || known == mine {
		return err
	}
	for _, k := range keys.Previous {
		if known == fingerprint(k) {
			replaced := act{name: "serve", word: "masterKey.replace", target: keySetting, door: atStart}
			return d.Write(ctx, func(tx db.Tx) error {
				if err := replaced.line(tx, c, audit.Change{Member: "fingerprint", From: known, To: mine}); err != nil {
					return err
				}
				return access.PutSetting(ctx, tx, keySetting, mine)
			})
		}
	}
	return ErrOtherMasterKey
}

// fingerprint returns a text that identifies a key.
func fingerprint(k *masterkey.Key) string { return hex.EncodeToString(k.Derive("fingerprint")[:16]) }

// checkMasterKey is CheckMasterKey for a start, with advice in its error. It
// removes a key that this start created: the key was never used, and the right
// one belongs in its place.
func (i *Instance) checkMasterKey(ctx context.Context) error {
	err := CheckMasterKey(ctx, i.DB, i.clock, i.keys)
	if !errors.Is(err, ErrOtherMasterKey) {
		return err
	}
	path := i.config.Server.MasterKey(&i.config.Store)
	found := "than the one in " + path
	if i.MasterKeyCreated {
		found = "and there was none in " + path
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w %s. Name the file that its servers use with --master-key-file, or copy it there: every replica needs the same one. "+
		"To replace the key, name the old one with --previous-master-key-files. "+
		"If that key is lost for good, run 'kartei master-key forget' once: the next server to start decides on the key, and clients begin again with lists that they are reading page by page. Encrypted files of documents cannot be read any more, and webhook endpoints receive nothing until their owners rotate their secrets; nothing else is lost", err, found)
}

// checkLost warns if the data folder has an older master key but a new database
// file. The database of this instance may have been deleted then. There is no
// warning for a named key file or PostgreSQL. The key may have been provided
// for a first start, or another replica may have created it.
func (i *Instance) checkLost(ctx context.Context) error {
	path, isFile := strings.CutPrefix(i.config.Store.Database(), "sqlite:")
	if !isFile || i.MasterKeyCreated || i.config.Server.MasterKeyFile != "" {
		return nil
	}
	err := begun(ctx, i.DB)
	if !errors.Is(err, ErrNoData) {
		return err
	}
	i.logger.Warn("the master key exists, but the database is new and empty: if this instance was in use before, its database was deleted or is elsewhere; stop the server, then put the file back or restore a backup",
		"database", path)
	return nil
}

// forgetMasterKey makes the database accept any master key from the next server
// that starts.
func forgetMasterKey(d db.DB, c clock.Clock) func(context.Context, Nothing) (Nothing, error) {
	return forget(d, c, keySetting, act{name: "master-key.forget", word: "masterKey.forget", target: keySetting})
}

// forget clears a setting.
func forget(d db.DB, c clock.Clock, setting string, a act) func(context.Context, Nothing) (Nothing, error) {
	return func(ctx context.Context, _ Nothing) (Nothing, error) {
		return Nothing{}, d.Write(ctx, func(tx db.Tx) error {
			if err := a.line(tx, c); err != nil {
				return err
			}
			return access.PutSetting(ctx, tx, setting, "")
		})
	}
}
