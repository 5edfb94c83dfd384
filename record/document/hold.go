package document

import (
	"context"
	"strconv"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/store/setting"
)

// holdSetting is the instance setting with the end of the hold. During the hold, no bytes of
// documents are deleted.
const holdSetting = "files-held-until"

// Hold keeps the bytes of deleted documents until a time. A backup takes its database snapshot
// after the call. It can then copy the bytes of every document in the snapshot. A job that did
// not see the hold may still delete bytes. Such a document was deleted before the snapshot.
func Hold(ctx context.Context, tx db.Tx, until clock.Micros) error {
	return setting.Put(ctx, tx, holdSetting, strconv.FormatInt(int64(until), 10))
}

// HeldUntil returns the end of the last hold. It may be in the past. It is zero if there was
// never a hold.
func HeldUntil(ctx context.Context, tx db.Tx) (clock.Micros, error) {
	value, err := setting.Get(ctx, tx, holdSetting)
	if err != nil || value == "" {
		return 0, err
	}
	until, err := strconv.ParseInt(value, 10, 64)
	return clock.Micros(until), err
}

// held returns job.Later during a hold.
func held(ctx context.Context, tx db.Tx, now clock.Micros) error {
	until, err := HeldUntil(ctx, tx)
	if err != nil {
		return err
	}
	if until > now {
		return job.Later(holdPause)
	}
	return nil
}

// holdPause is the pause of a job until it checks the hold again.
const holdPause = time.Minute
