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
	"kartei/store/setting"
)

// Nothing is the input of an act without input.
type Nothing struct{}

// PauseState is the output of the acts pause and resume.
type PauseState struct {
	Paused bool `json:"paused"`
}

// pauseSetting is the name of the setting that the acts pause and resume store.
const pauseSetting = "paused"

// pausePoll is the interval at which a replica reads the setting of a pause. Another replica may
// have stored it, and its notification may be lost.
const pausePoll = time.Second

// door returns the admin.Door of a running instance, with all acts.
func (i *Instance) door() *admin.Door {
	a := acts(i.DB, i.clock, i.API.Pause)
	a["address"] = socket.Do(func(context.Context, Nothing) (Address, error) { return Address{i.BaseURL}, nil })
	a["backup"] = socket.Do(i.backupAct)
	maps.Copy(a, i.blobActs())
	return &admin.Door{API: i.API, Acts: a, Explain: Explain(i.DB.Writes().Refused)}
}

// Address is the output of the act address. Only a running instance has this act.
type Address struct {
	// BaseURL is the public URL of the instance, without /v1.
	BaseURL string `json:"baseUrl"`
}

// acts returns the acts about the process or its machine. They are not operations of the API,
// because only the administration socket offers them. A backup must work on a database of another
// release, takes hours and writes to a folder. pause and resume set the pause of the API. The other
// acts are about files and keys, which belong to no organization.
//
// Acts that change something append a line to the audit log of the instance.
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

// pauseAct returns the act pause, or the act resume if paused is false. It stores the setting,
// which survives a restart and reaches other replicas. Then it calls pause in this process.
func pauseAct(
	d db.DB, c clock.Clock, pause func(bool), paused bool,
) func(context.Context, Nothing) (PauseState, error) {
	a := act{name: "resume", word: "instance.resume", target: "api"}
	if paused {
		a.name, a.word = "pause", "instance.pause"
	}
	return func(ctx context.Context, _ Nothing) (PauseState, error) {
		err := d.Write(ctx, func(tx db.Tx) error {
			before, err := setting.Get(ctx, tx, pauseSetting)
			if err != nil {
				return err
			}
			if err := a.line(tx, c, audit.Change{Member: "paused", From: before == "true", To: paused}); err != nil {
				return err
			}
			tx.Notify(access.Topic, "")
			return setting.Put(ctx, tx, pauseSetting, fmt.Sprint(paused))
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
		value, err := setting.Get(ctx, tx, pauseSetting)
		paused = value == "true"
		return err
	})
	return paused, err
}

// follow refreshes the directory and the pause after changes by other replicas. It does so after
// each notification, and reads the pause at least every pausePoll. The check of keys and rights
// does not depend on follow (see access.Directory).
func (i *Instance) follow(ctx context.Context) {
	told := make(chan struct{}, 1)
	i.ground.Go(func() {
		i.DB.Listen(ctx, access.Topic, func(string) {
			select {
			case told <- struct{}{}:
			default: // a refresh is already due
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
		// If the database does not answer, /readyz reports it, and the pause stays as it is.
		if paused, err := isPaused(ctx, i.DB); err == nil {
			i.API.Pause(paused)
		}
	}
}

// ErrNoData is returned for a store without data of Kartei. The file is missing, or no migration
// was ever applied.
var ErrNoData = errors.New("there is no Kartei data")

// OpenDoor opens the database of an instance that does not run. It migrates an old database, but
// does not create a new one. If there is none, it returns ErrNoData: a mistyped folder must not
// become an empty database. It returns an admin.Door for the database, and a function that closes
// the database.
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

// offline returns an API without a server, for the calls of the operator. Without files, operations
// that read files cannot be called.
func offline(d db.DB, store *config.Store, files upload.Files) (*api.API, error) {
	cursors := make([]byte, 32) // cursors of the operator are used only within one command
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

// migrated migrates an existing database to the schema of this release. It returns ErrNoData for an
// empty database.
func migrated(ctx context.Context, d db.DB) error {
	if err := begun(ctx, d); err != nil {
		return err
	}
	_, err := schema.Migrate(ctx, d)
	return err
}

// OpenUnmigrated is like OpenDoor, but does not migrate the database. Its caller may call only acts
// that work with any schema.
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

// openData opens an existing database and calls prepare. It returns the database, and a function
// that closes it.
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

// versions returns the names of the served versions of the API, the current version first.
func versions(s *config.Server) []string {
	return release.Names(release.VersionsIn(string(s.Environment)))
}
