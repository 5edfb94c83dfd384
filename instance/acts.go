package instance

import (
	"bytes"
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
	"kartei/app"
	"kartei/config"
	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/kit/clock"
	"kartei/limit"
	"kartei/notify"
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

// door is that of a running instance.
func (i *Instance) door() *admin.Door {
	a := acts(i.DB, i.API.Pause)
	a["address"] = socket.Do(func(context.Context, Nothing) (Address, error) { return Address{i.BaseURL}, nil })
	a["backup"] = socket.Do(i.backupAct)
	maps.Copy(a, i.blobActs())
	return &admin.Door{API: i.API, Acts: a}
}

// Address is what the act address answers; only a running instance has it.
type Address struct {
	// BaseURL is where clients reach the instance, without /v1.
	BaseURL string `json:"baseUrl"`
}

// acts are what concerns the process or its machine, and so stands in no table of
// operations: no other door than the administration socket will ever offer it. A
// backup must work on a database of another release, takes hours and writes into a
// folder; pause and resume switch the path itself; the rest is about files and
// keys that an organization knows nothing of.
func acts(d db.DB, pause func(bool)) socket.Acts {
	return socket.Acts{
		"pause":              socket.Do(pauseAct(d, pause, true)),
		"resume":             socket.Do(pauseAct(d, pause, false)),
		"blobs.forget-place": socket.Do(forgetPlace(d)),
		"master-key.forget":  socket.Do(forgetMasterKey(d)),
		"backup":             socket.Do(func(ctx context.Context, in BackupInput) (BackupOutput, error) { return backup(ctx, d, in) }),
	}
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
		// Where the database does not answer, /readyz tells, and the state stays.
		if paused, err := isPaused(ctx, i.DB); err == nil {
			i.API.Pause(paused)
		}
	}
}

// ErrNoData is returned where a store holds no data of Kartei's: there is no
// file, or nothing was ever migrated in it.
var ErrNoData = errors.New("there is no Kartei data")

// OpenDoor opens the data without serving it and returns the door to it, and how
// to close it. It migrates where that is due, but makes no new database: who
// mistypes a folder must not find an empty one. That is ErrNoData.
func OpenDoor(ctx context.Context, store *config.Store) (*admin.Door, func(), error) {
	d, closeAll, err := openData(ctx, store, migrated)
	if err != nil {
		return nil, nil, err
	}
	a, err := offline(d, store)
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	return &admin.Door{API: a, Acts: acts(d, func(bool) {})}, closeAll, nil
}

// offline makes the API of data that no server serves, for the operator's calls.
func offline(d db.DB, store *config.Store) (*api.API, error) {
	return api.New(api.Options{
		DB: d, Clock: clock.System, Logger: slog.Default(), Versions: api.Versions,
		Access:    access.NewDirectory(d, clock.System, access.Options{}),
		Limiter:   limit.Open(limit.Config{}, clock.System, limit.Options{DB: d}),
		CursorKey: bytes.Repeat([]byte{0}, 32), // no operation of the operator's makes cursors
		Settings: app.Settings{
			// Nobody knows the environment here, so any version may be pinned.
			Versions: api.Names(api.Versions), Retention: time.Duration(store.OrganizationRetention),
			Notices: notify.New(notify.Options{DB: d, Clock: clock.System, Forms: webhook.Forms}),
		},
	})
}

// migrated brings data that there are to this release's version.
func migrated(ctx context.Context, d db.DB) error {
	if err := begun(ctx, d); err != nil {
		return err
	}
	_, err := db.Migrate(ctx, d)
	return err
}

// OpenUnmigrated is like OpenDoor but leaves the database as it is, so that only acts that
// do not depend on its version may be called.
func OpenUnmigrated(ctx context.Context, store *config.Store) (*admin.Door, func(), error) {
	d, closeAll, err := openData(ctx, store, begun)
	if err != nil {
		return nil, nil, err
	}
	return &admin.Door{Acts: acts(d, func(bool) {})}, closeAll, nil
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

// openData opens a database that exists, and returns how to close it.
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
	return access.Options{Failures: s.Guesses, Retention: time.Duration(store.OrganizationRetention)}
}

// versions returns the names of the versions that are served, the current one
// first.
func versions(s *config.Server) []string { return api.Names(api.VersionsIn(string(s.Environment))) }
