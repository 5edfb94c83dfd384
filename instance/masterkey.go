package instance

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"kartei/access"
	"kartei/db"
	"kartei/masterkey"
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
func CheckMasterKey(ctx context.Context, d db.DB, key *masterkey.Key) error {
	mine := hex.EncodeToString(key.Derive("fingerprint")[:16])
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
	if err == nil && known != mine {
		err = ErrOtherMasterKey
	}
	return err
}

// checkMasterKey is CheckMasterKey for a start, and says what to do. A key that
// this start made goes again: it was never used, and stands in the place of the
// right one.
func (i *Instance) checkMasterKey(ctx context.Context) error {
	err := CheckMasterKey(ctx, i.DB, i.key)
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
		"If that key is lost for good, run 'kartei master-key forget' once: the next server to start decides on the key, and clients that are in the midst of paging begin again. Nothing else is lost", err, found)
}

// forgetMasterKey lets the next server that starts bring any master key.
func forgetMasterKey(d db.DB) func(context.Context, Nothing) (Nothing, error) {
	return func(ctx context.Context, _ Nothing) (Nothing, error) {
		return Nothing{}, d.Write(ctx, func(tx db.Tx) error { return access.PutSetting(ctx, tx, keySetting, "") })
	}
}
