package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"strings"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/config"
	"kartei/door/admin"
	"kartei/kit/clock"
	"kartei/notify"
	"kartei/requestlog"
	"kartei/store/db"
	"kartei/webhook"
)

// Nothing is the input of an act that takes none.
type Nothing struct{}

// PauseState is what the acts pause and resume answer.
type PauseState struct {
	Paused bool `json:"paused"`
}

// pauseSetting is the instance's setting behind kartei pause.
const pauseSetting = "paused"

// pausePoll is how soon a replica follows a pause that another one was told
// of, where no notification came.
const pausePoll = time.Second

// calls is what reads the request log.
type calls interface {
	QueryAct(context.Context, requestlog.QueryInput) (requestlog.QueryOutput, error)
	VersionsAct(context.Context, requestlog.VersionsInput) (requestlog.VersionsOutput, error)
}

// acts are those of a running instance.
func (i *Instance) acts() admin.Acts {
	a := acts(i.DB, i.Directory, i.Log, i.API.Pause)
	a["address"] = admin.Do(func(context.Context, Nothing) (Address, error) { return Address{i.BaseURL}, nil })
	a["backup"] = admin.Do(i.backupAct)
	maps.Copy(a, i.blobActs())
	return a
}

// Address is what the act address answers; only a running instance has it.
type Address struct {
	// BaseURL is where clients reach the instance, without /v1.
	BaseURL string `json:"baseUrl"`
}

func acts(d db.DB, dir *access.Directory, log calls, pause func(bool)) admin.Acts {
	a := admin.Directory(dir)
	a["log.query"] = admin.Do(log.QueryAct)
	notices := notify.New(notify.Options{DB: d, Clock: clock.System, Forms: webhook.Forms})
	a["bell.list"] = admin.Do(notices.Bell)
	a["job.list"] = admin.Do(listJobs(d))
	a["job.retry"] = admin.Do(retryJob(d, func() clock.Micros { return clock.Now(clock.System) }))
	desk := webhook.Desk{DB: d, Clock: clock.System, Families: api.Families, Notices: notices}
	a["key.revoke"] = admin.Do(revokeKey(dir, &desk))
	a["webhook.list"] = admin.Do(desk.Find)
	a["webhook.show"] = admin.Do(desk.Show)
	a["webhook.deliveries"] = admin.Do(desk.Log)
	a["webhook.resend"] = admin.Do(desk.Resend)
	a["webhook.enable"] = admin.Do(desk.Enable)
	a["log.versions"] = admin.Do(log.VersionsAct)
	a["pause"] = admin.Do(pauseAct(d, pause, true))
	a["resume"] = admin.Do(pauseAct(d, pause, false))
	a["blobs.forget-place"] = admin.Do(forgetPlace(d))
	a["master-key.forget"] = admin.Do(forgetMasterKey(d))
	a["backup"] = admin.Do(func(ctx context.Context, in BackupInput) (BackupOutput, error) { return backup(ctx, d, in) })
	return a
}

// pauseAct remembers the pause, so that it outlives a restart and reaches
// other replicas, and then makes it true here.
func pauseAct(d db.DB, pause func(bool), paused bool) func(context.Context, Nothing) (PauseState, error) {
	return func(ctx context.Context, _ Nothing) (PauseState, error) {
		err := d.Write(ctx, func(tx db.Tx) error {
			tx.Notify(access.Topic, "")
			return access.PutSetting(ctx, tx, pauseSetting, fmt.Sprint(paused))
		})
		if err != nil {
			return PauseState{}, err
		}
		pause(paused)
		return PauseState{paused}, nil
	}
}

func isPaused(ctx context.Context, d db.DB) (paused bool, err error) {
	err = d.Read(ctx, func(tx db.Tx) error {
		value, err := access.Setting(ctx, tx, pauseSetting)
		paused = value == "true"
		return err
	})
	return paused, err
}

// follow makes what other replicas were told this one's too: at once where a
// notification comes, and a pause after pausePoll where none does. Keys and
// rights do not rely on it (see access.Directory).
func (i *Instance) follow(ctx context.Context) {
	told := make(chan struct{}, 1)
	i.ground.Go(func() {
		i.DB.Listen(ctx, access.Topic, func(string) {
			select {
			case told <- struct{}{}:
			default: // it is going to look anyway
			}
		})
	})
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
			_ = i.Directory.Refresh(ctx) // an error meets the next call too
		case <-i.clock.After(pausePoll):
		}
		// Where the data base does not answer, /readyz tells, and the state stays.
		if paused, err := isPaused(ctx, i.DB); err == nil {
			i.API.Pause(paused)
		}
	}
}

// ErrNoData is returned where a store holds no data of Kartei's: there is no
// file, or nothing was ever migrated in it.
var ErrNoData = errors.New("there is no Kartei data")

// OpenActs opens the data without serving it and returns the acts on it, and
// how to close it. It migrates where that is due, but makes no new database:
// who mistypes a folder must not find an empty one. That is ErrNoData.
func OpenActs(ctx context.Context, store *config.Store) (admin.Acts, func(), error) {
	return openActs(ctx, store, migrated)
}

// migrated brings data that there are to this release's version.
func migrated(ctx context.Context, d db.DB) error {
	if err := begun(ctx, d); err != nil {
		return err
	}
	_, err := db.Migrate(ctx, d)
	return err
}

// OpenUnmigrated is like OpenActs but leaves the data base as it is, so that
// only acts that do not depend on its version may be called.
func OpenUnmigrated(ctx context.Context, store *config.Store) (admin.Acts, func(), error) {
	return openActs(ctx, store, begun)
}

// begun is ErrNoData where no migration was ever applied.
func begun(ctx context.Context, d db.DB) error {
	schema, err := db.Status(ctx, d)
	if err == nil && schema.Version == 0 {
		err = ErrNoData
	}
	return err
}

// CheckData returns ErrNoData where the store is an SQLite file that does not
// exist, which opening it would make.
func CheckData(store *config.Store) error {
	path, isFile := strings.CutPrefix(store.Database(), "sqlite:")
	if !isFile {
		return nil
	}
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoData
	}
	return err
}

func openActs(ctx context.Context, store *config.Store, prepare func(context.Context, db.DB) error) (admin.Acts, func(), error) {
	d, closeAll, err := openData(ctx, store, prepare)
	if err != nil {
		return nil, nil, err
	}
	// Without a server nobody knows the environment, so any version may be pinned.
	dir := access.NewDirectory(d, clock.System, access.Options{Versions: api.Names(api.Versions), Retention: time.Duration(store.OrganizationRetention)})
	return acts(d, dir, requestlog.NewReader(d), func(bool) {}), closeAll, nil
}

// openData opens a data base that exists, and returns how to close it.
func openData(ctx context.Context, store *config.Store, prepare func(context.Context, db.DB) error) (db.DB, func(), error) {
	if err := CheckData(store); err != nil {
		return nil, nil, err
	}
	d, err := db.Open(ctx, store.Database(), db.Options{})
	if err != nil {
		return nil, nil, err
	}
	closeAll := func() {
		if err := d.Close(); err != nil {
			slog.Error("database not closed", "error", err)
		}
	}
	if err := prepare(ctx, d); err != nil {
		closeAll()
		return nil, nil, err
	}
	return d, closeAll, nil
}

func accessOptions(store *config.Store, s *config.Server) access.Options {
	return access.Options{Versions: versions(s), Failures: s.Guesses, Retention: time.Duration(store.OrganizationRetention)}
}

// versions returns the names of the versions that are served, the current one
// first.
func versions(s *config.Server) []string { return api.Names(api.VersionsIn(string(s.Environment))) }
