package instance

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"kartei/access"
	"kartei/kit/masterkey"
	"kartei/store/db"
)

// keySetting is the instance's setting that remembers the fingerprint of the
// master key. It is no secret: it tells nothing of the key.
const keySetting = "master-key"

// ErrOtherMasterKey is returned, wrapped, where a data base was used with
// another master key than the one that it is opened with.
var ErrOtherMasterKey = errors.New("the database was used with another master key")

// CheckMasterKey has the data base remember the master key of its first
// server, and returns ErrOtherMasterKey to those that come with another:
// replicas that differ would refuse each other's cursors. Of several that start
// at once on a new data base the first decides.
// Where it remembers a key before the one in force, it remembers the one in force
// from then on.
func CheckMasterKey(ctx context.Context, d db.DB, keys masterkey.Ring) error {
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
			return d.Write(ctx, func(tx db.Tx) error { return access.PutSetting(ctx, tx, keySetting, mine) })
		}
	}
	return ErrOtherMasterKey
}

// fingerprint tells keys apart.
func fingerprint(k *masterkey.Key) string { return hex.EncodeToString(k.Derive("fingerprint")[:16]) }

// checkMasterKey is CheckMasterKey for a start, and says what to do. A key that
// this start made goes again: it was never used, and stands in the place of the
// right one.
func (i *Instance) checkMasterKey(ctx context.Context) error {
	err := CheckMasterKey(ctx, i.DB, i.keys)
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
		"If that key is lost for good, run 'kartei master-key forget' once: the next server to start decides on the key, and clients that are in the midst of paging begin again. Encrypted files of documents cannot be read any more, and webhook endpoints get nothing until their owners rotate their secrets; nothing else is lost", err, found)
}

// checkLost warns where the data folder has a master key from before and a data
// base file that is new: what this instance served may have been deleted. Where
// the key's file was named, or the data base is PostgreSQL, somebody may just
// have provided a key for a first start, or another replica have made it.
func (i *Instance) checkLost(ctx context.Context) error {
	path, isFile := strings.CutPrefix(i.config.Store.Database(), "sqlite:")
	if !isFile || i.MasterKeyCreated || i.config.Server.MasterKeyFile != "" {
		return nil
	}
	err := begun(ctx, i.DB)
	if !errors.Is(err, ErrNoData) {
		return err
	}
	i.logger.Warn("the master key was there before, but the database is new and empty: if this instance has served before, its database was deleted or is elsewhere; stop the server, then put the file back or restore a backup",
		"database", path)
	return nil
}

// forgetMasterKey lets the next server that starts bring any master key.
func forgetMasterKey(d db.DB) func(context.Context, Nothing) (Nothing, error) {
	return func(ctx context.Context, _ Nothing) (Nothing, error) {
		return Nothing{}, d.Write(ctx, func(tx db.Tx) error { return access.PutSetting(ctx, tx, keySetting, "") })
	}
}
