package document

import (
	"context"
	"strconv"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/work/job"
)

// holdSetting is the instance's setting that says until when no bytes of
// documents are removed.
const holdSetting = "files-held-until"

// Hold keeps the bytes of deleted documents where they are until a point in
// time. Who takes a picture of the data base after it can copy the bytes of
// every document that is in the picture: a job that removes bytes and did not
// see the hold belongs to a document that was deleted before it.
func Hold(ctx context.Context, tx db.Tx, until clock.Micros) error {
	return access.PutSetting(ctx, tx, holdSetting, strconv.FormatInt(int64(until), 10))
}

// HeldUntil returns until when no bytes are removed; it may be in the past, and
// is zero if they were never held.
func HeldUntil(ctx context.Context, tx db.Tx) (clock.Micros, error) {
	value, err := access.Setting(ctx, tx, holdSetting)
	if err != nil || value == "" {
		return 0, err
	}
	until, err := strconv.ParseInt(value, 10, 64)
	return clock.Micros(until), err
}

// held fails with job.Later while there is a hold.
func held(ctx context.Context, tx db.Tx, now clock.Micros) error {
	until, err := HeldUntil(ctx, tx)
	if err == nil && until > now {
		return job.Later(holdPause)
	}
	return err
}

// holdPause is after how long a job asks again that is to remove bytes.
const holdPause = time.Minute
