package instance

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/audit"
	"kartei/store/db"
	"kartei/store/setting"
)

// keySetting is the name of the setting with the fingerprint of the master key. The fingerprint is
// not secret, since it does not reveal the key.
const keySetting = "master-key"

// ErrOtherMasterKey is wrapped in the error if the database was last used with another master key.
var ErrOtherMasterKey = errors.New("the database was used with another master key")

// CheckMasterKey compares the fingerprint of the current master key with the fingerprint in the
// database. If they differ, it returns ErrOtherMasterKey: replicas with different keys would refuse
// each other's cursors.
//
// A new database gets the fingerprint of the first server that starts. If the stored fingerprint
// belongs to a previous key, CheckMasterKey replaces it and appends a line to the audit log.
func CheckMasterKey(ctx context.Context, d db.DB, c clock.Clock, keys masterkey.Ring) error {
	mine := fingerprint(keys.Current)
	var known string
	err := d.Read(ctx, func(tx db.Tx) (err error) {
		known, err = setting.Get(ctx, tx, keySetting)
		return err
	})
	if err == nil && known == "" {
		err = d.Write(ctx, func(tx db.Tx) (err error) {
			known, err = setting.Claim(ctx, tx, keySetting, mine)
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
				return setting.Put(ctx, tx, keySetting, mine)
			})
		}
	}
	return ErrOtherMasterKey
}

// fingerprint returns a text that identifies a key and does not reveal it.
func fingerprint(k *masterkey.Key) string { return hex.EncodeToString(k.Derive("fingerprint")[:16]) }

// checkMasterKey calls CheckMasterKey at the start, and adds advice to ErrOtherMasterKey. If this
// start created the key, the key was never used. checkMasterKey then removes its file, so that the
// operator can put the right key there.
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

// checkLost logs a warning if the data folder has an older master key but a new database file. The
// old database may have been deleted. PostgreSQL and a key file from the settings cause no warning:
// the key may have been prepared for the first start, or another replica may have created it.
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

// forgetMasterKey returns the act master-key.forget. After it, the next server that starts may have
// any master key.
func forgetMasterKey(d db.DB, c clock.Clock) func(context.Context, Nothing) (Nothing, error) {
	return forget(d, c, keySetting, act{name: "master-key.forget", word: "masterKey.forget", target: keySetting})
}

// forget returns an act that clears a setting.
func forget(d db.DB, c clock.Clock, name string, a act) func(context.Context, Nothing) (Nothing, error) {
	return func(ctx context.Context, _ Nothing) (Nothing, error) {
		return Nothing{}, d.Write(ctx, func(tx db.Tx) error {
			if err := a.line(tx, c); err != nil {
				return err
			}
			return setting.Put(ctx, tx, name, "")
		})
	}
}
