package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/instance"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/db/sqlite"
)

// TestBackupIntoNoFolder checks that a backup does not create the parent folder of its files,
// because the disk for backups may not be mounted.
func TestBackupIntoNoFolder(t *testing.T) {
	s := newFolder(t)
	if _, _, err := masterkey.LoadOrCreate(filepath.Join(s.Dir, "master.key")); err != nil {
		t.Fatal(err)
	}
	there := t.TempDir()
	missing := filepath.Join(there, "disk", "nightly")
	for _, line := range [][]string{
		{filepath.Join(missing, "k.db")},
		{"--without-files", filepath.Join(missing, "k.db")},
		{"--files", filepath.Join(missing, "files"), filepath.Join(there, "k.db")},
	} {
		status, out, errs := s.Try(append([]string{"backup"}, line...)...)
		if status != 1 || out != "" || !strings.Contains(errs, "there is no folder "+missing) ||
			!strings.Contains(errs, "mkdir -p "+missing) {
			t.Errorf("backup %v: status %d, %q, %q", line, status, out, errs)
		}
		if left, err := os.ReadDir(there); err != nil || len(left) > 0 {
			t.Errorf("backup %v leaves %v, %v", line, left, err)
		}
	}
	if status, _, errs := s.Try("backup", "--files", filepath.Join(there, "files"),
		filepath.Join(there, "k.db")); status != 0 {
		t.Errorf("into a folder: %s", errs)
	}
}

// TestFailedBackupLeavesNoFolder checks that a backup that fails before files are copied removes the
// folder that it made for them, but not a folder of earlier backups.
func TestFailedBackupLeavesNoFolder(t *testing.T) {
	s := newFolder(t)
	if _, _, err := masterkey.LoadOrCreate(filepath.Join(s.Dir, "master.key")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "k.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := s.Try("backup", file); status != 1 || !strings.Contains(errs, file+" exists already") {
		t.Fatalf("over a file: status %d, %s", status, errs)
	}
	if _, err := os.Stat(file + ".files"); !os.IsNotExist(err) {
		t.Errorf("the failed backup left a folder: %v", err)
	}
	if err := os.Mkdir(file+".files", 0o700); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := s.Try("backup", file); status != 1 {
		t.Errorf("over a file: status %d", status)
	}
	if _, err := os.Stat(file + ".files"); err != nil {
		t.Errorf("the failed backup removed a folder: %v", err)
	}
}

// TestURLsAreNoPaths checks that a URL in place of a path is refused and nothing is written. Without
// the check, backup s3://bucket/a writes a local folder with the name s3:.
func TestURLsAreNoPaths(t *testing.T) {
	s := newFolder(t)
	here := t.TempDir()
	t.Chdir(here)
	if err := os.MkdirAll("s3:/bucket", 0o700); err != nil { // the folder of the copy must exist
		t.Fatal(err)
	}
	for _, line := range [][]string{
		{"backup", "--without-files", "s3://bucket/k.db"},
		{"backup", "--without-files", "nowhere://bucket/k.db"},
		{"backup", "--files", "s3://bucket/files", "k.db"},
		{"restore", "s3://bucket/k.db"},
		{"restore", "--files", "s3://bucket/files", "k.db"},
		{"--data-dir", "s3://bucket/data", "migrate"},
		{"--database-url", "sqlite:s3://bucket/k.db", "migrate"},
		{"--blob-url", "file:gs://bucket", "migrate"},
		{"copy", "--from", "sqlite:k.db", "--to", "s3://bucket/k.db"},
	} {
		status, out, errs := s.Try(line...)
		if status != 2 || out != "" || !strings.Contains(errs, "accepted") {
			t.Errorf("%v: status %d, %q, %q", line, status, out, errs)
		}
		left, err := os.ReadDir("s3:/bucket")
		if all, _ := os.ReadDir("."); err != nil || len(left) > 0 || len(all) > 1 {
			t.Errorf("%v leaves %v, %v, %v", line, left, all, err)
		}
	}
}

// TestRestoreSaysWhatIsMissing checks that a restore warns if no server can start with the data,
// because the master key is missing or different. Errors contain their cause once.
func TestRestoreSaysWhatIsMissing(t *testing.T) {
	s := newFolder(t)
	path := filepath.Join(s.Dir, "master.key")
	key, _, err := masterkey.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := open.Database(t.Context(), "sqlite:"+filepath.Join(s.Dir, "kartei.db"), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := instance.CheckMasterKey(t.Context(), d, clock.System, masterkey.Ring{Current: key}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	file, other := filepath.Join(t.TempDir(), "k.db"), filepath.Join(t.TempDir(), "other.key")
	if _, _, err := masterkey.LoadOrCreate(other); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := s.Try("backup", file); status != 0 {
		t.Fatal(errs)
	}
	for name, c := range map[string]struct {
		flags []string
		want  string
	}{
		"no key":         {nil, "there is no master key in "},
		"without files":  {[]string{"--without-files"}, "there is no master key in "},
		"another key":    {[]string{"--master-key-file", other}, other + " is another one"},
		"the key":        {[]string{"--master-key-file", path}, ""},
		"an earlier key": {[]string{"--master-key-file", other, "--previous-master-key-files", path}, ""},
		"for a script":   {[]string{"--json"}, "there is no master key in "},
	} {
		elsewhere := s
		elsewhere.Dir = filepath.Join(t.TempDir(), "new")
		status, out, errs := elsewhere.Try(append([]string{"restore", file}, c.flags...)...)
		if status != 0 || out == "" || !strings.Contains(errs, c.want) || c.want == "" && errs != "" {
			t.Errorf("%s: status %d, %q, %q", name, status, out, errs)
		}
	}

	database := filepath.Join(s.Dir, "kartei.db")
	if status, _, errs := s.Try("restore", file); status != 1 ||
		errs != "kartei: restore: there is a database already: "+database+"; use --force to replace it\n" {
		t.Errorf("over a database: status %d, %q", status, errs)
	}
	_, unlock, err := sqlite.LockFile(database)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if status, _, errs := s.Try("restore", "--force", file); status != 1 ||
		!strings.HasPrefix(errs, "kartei: restore: "+database+" is in use by process") {
		t.Errorf("over a database in use: status %d, %q", status, errs)
	}
}
