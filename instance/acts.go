package instance

import (
	"context"
	"crypto/rand"
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
	"kartei/api/op"
	"kartei/api/release"
	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/instance/config"
	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/people/notify"
	"kartei/people/organization"
	"kartei/record/upload"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/schema"
)

// Nothing is the input of an act that takes none.
type Nothing struct{}

// PauseState is the output of the acts pause and resume.
type PauseState struct {
	Paused bool `json:"paused"`
}

// pauseSetting is the setting that the command kartei pause stores.
const pauseSetting = "paused"

// pausePoll is the interval at which a replica looks for a pause by another
// replica, in case a notification was lost.
const pausePoll = time.Second

// door returns the door of a running instance.
func (i *Instance) door() *admin.Door {
	a := acts(i.DB, i.clock, i.API.Pause)
	a["address"] = socket.Do(func(context.Context, Nothing) (Address, error) { return Address{i.BaseURL}, nil })
	a["backup"] = socket.Do(i.backupAct)
	maps.Copy(a, i.blobActs())
	return &admin.Door{API: i.API, Acts: a, Explain: Explain(i.DB.Writes().Refused)}
}

// Address is the output of the act address. Only a running instance has this
// act.
type Address struct {
	// BaseURL is where clients reach the instance, without /v1.
	BaseURL string `json:"baseUrl"`
}

// acts returns the acts about the process or its machine. They have no row in a
// table of operations, because no other door than the administration socket
// will ever offer them. A backup must work on a database of another release,
// takes hours and writes into a folder. pause and resume switch the path
// itself. The others are about files and keys, which no organization knows of.
//
// Acts that change something are audited in the log of the instance, like the
// operations of the tables.
func acts(d db.DB, c clock.Clock, pause func(bool)) socket.Acts {
	i := &Instance{DB: d, clock: c}
	return socket.Acts{
		"pause":              socket.Do(pauseAct(d, c, pause, true)),
		"resume":             socket.Do(pauseAct(d, c, pause, false)),
		"blobs.forget-place": socket.Do(forgetPlace(d, c)),
		"master-key.forget":  socket.Do(forgetMasterKey(d, c)),
		"backup":             socket.Do(i.backupDatabase),
	}
}

// pauseAct stores the pause, so that it survives a restart and reaches other
// replicas. Then it applies the pause here.
func pauseAct(
	d db.DB, c clock.Clock, pause func(bool), paused bool,
) func(context.Context, Nothing) (PauseState, error) {
	a := act{name: "resume", word: "instance.resume", target: "api"}
	if paused {
		a.name, a.word = "pause", "instance.pause"
	}
	return func(ctx context.Context, _ Nothing) (PauseState, error) {
		err := d.Write(ctx, func(tx db.Tx) error {
			before, err := access.Setting(ctx, tx, pauseSetting)
			if err != nil {
				return err
			}
			if err := a.line(tx, c, audit.Change{Member: "paused", From: before == "true", To: paused}); err != nil {
				return err
			}
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

// follow applies changes by other replicas: at once after a notification, and a
// pause after pausePoll without one. Keys and rights do not rely on it (see
// access.Directory).
func (i *Instance) follow(ctx context.Context) {
	told := make(chan struct{}, 1)
	i.ground.Go(func() {
		i.DB.Listen(ctx, access.Topic, func(string) {
			select {
			case told <- struct{}{}:
			default: // a look is due already
			}
		})
	})
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
			_ = i.Directory.Refresh(ctx) // the next call gets the same error
		case <-i.clock.After(pausePoll):
		}
		// If the database does not answer, /readyz reports that, and the state
		// stays.
		if paused, err := isPaused(ctx, i.DB); err == nil {
			i.API.Pause(paused)
		}
	}
}

// ErrNoData is returned for a store without data of Kartei: the file is
// missing, or no migration was ever applied.
var ErrNoData = errors.New("there is no Kartei data")

// OpenDoor opens the data without serving it. It returns the door to it, and a
// function that closes it. It migrates an old database. It creates no new one
// and returns ErrNoData instead, so that a mistyped folder is not an empty
// database.
func OpenDoor(ctx context.Context, store *config.Store) (*admin.Door, func(), error) {
	d, closeAll, err := openData(ctx, store, migrated)
	if err != nil {
		return nil, nil, err
	}
	a, err := offline(d, store, upload.Files{})
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	return &admin.Door{API: a, Acts: acts(d, clock.System, func(bool) {}), Explain: Explain(d.Writes().Refused)},
		closeAll, nil
}

// offline returns an API on data without a server, for the operator's calls. Without
// files, rows that read some cannot be called.
func offline(d db.DB, store *config.Store, files upload.Files) (*api.API, error) {
	cursors := make([]byte, 32) // the operator's cursors are used by one command
	if _, err := rand.Read(cursors); err != nil {
		return nil, err
	}
	return api.New(api.Options{
		DB: d, Clock: clock.System, Logger: slog.Default(), Versions: release.Versions,
		Access:    access.NewDirectory(d, clock.System, access.Options{}),
		Limiter:   limit.Open(limit.Config{}, clock.System, limit.Options{DB: d}),
		CursorKey: cursors,
		Services: []op.ServiceValue{
			upload.Service.Is(files), organization.Retention.Is(time.Duration(store.OrganizationRetention)),
			notify.Service.Is(notify.New(notify.Options{DB: d, Clock: clock.System, Forms: api.NoticeForms()})),
		},
	})
}

// migrated migrates a database that exists to the schema of this release.
func migrated(ctx context.Context, d db.DB) error {
	if err := begun(ctx, d); err != nil {
		return err
	}
	_, err := schema.Migrate(ctx, d)
	return err
}

// OpenUnmigrated is like OpenDoor but leaves the database as it is. Only acts
// that do not depend on its version may be called.
func OpenUnmigrated(ctx context.Context, store *config.Store) (*admin.Door, func(), error) {
	d, closeAll, err := openData(ctx, store, begun)
	if err != nil {
		return nil, nil, err
	}
	return &admin.Door{Acts: acts(d, clock.System, func(bool) {}), Explain: Explain(d.Writes().Refused)}, closeAll, nil
}

// begun returns ErrNoData if no migration was ever applied.
func begun(ctx context.Context, d db.DB) error {
	state, err := schema.Status(ctx, d)
	if err != nil {
		return err
	}
	if state.Version == 0 {
		return ErrNoData
	}
	return nil
}

// CheckData returns ErrNoData if the store is an SQLite file that does not
// exist. Opening it would create the file.
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

// openData opens an existing database and prepares it. It returns the database,
// and a function that closes it.
func openData(
	ctx context.Context, store *config.Store, prepare func(context.Context, db.DB) error,
) (db.DB, func(), error) {
	if err := CheckData(store); err != nil {
		return nil, nil, err
	}
	d, err := open.Database(ctx, store.Database(), db.Options{})
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
func versions(s *config.Server) []string {
	return release.Names(release.VersionsIn(string(s.Environment)))
}
