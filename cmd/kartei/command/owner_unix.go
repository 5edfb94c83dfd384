//go:build unix

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"kartei/instance/config"
	"kartei/store/blob"
)

// giveToOwners gives files of root in the folders of the data to the owners of these folders. A
// server that runs as the owner could not open them otherwise. It does nothing unless this process
// runs as root. The files of documents may be millions, so giveToOwners leaves out their folder unless
// the command has written such files.
func giveToOwners(s *config.Store, documents bool) error {
	if os.Geteuid() != 0 {
		return nil
	}
	all := func(string) bool { return true }
	location, err := blob.ParseLocation(s.Blobs())
	if err != nil {
		return err
	}
	inData := all
	if within, outside := filepath.Rel(string(s.DataDir), location.Dir); !documents && outside == nil {
		inData = func(name string) bool { return name != within }
	}
	err = giveToOwner(string(s.DataDir), inData)
	if path, is := strings.CutPrefix(s.Database(), "sqlite:"); is && s.DatabaseURL != "" {
		base := filepath.Base(path)
		ours := func(name string) bool { return strings.HasPrefix(name, base) }
		err = errors.Join(err, giveToOwner(filepath.Dir(path), ours))
	}
	if documents && location.Dir != "" && s.BlobURL != "" {
		err = errors.Join(err, giveToOwner(location.Dir, all))
	}
	if err != nil {
		return fmt.Errorf("files of root stay in the data folder, and a server of its owner cannot use them: %w", err)
	}
	return nil
}

// giveToOwner gives the files of root in a folder to the owner and the group of the folder, if the
// owner is not root and mine accepts the path within the folder. The owner can change the folder
// meanwhile, so giveToOwner follows no links out of it, and skips files with several names.
func giveToOwner(folder string, mine func(name string) bool) error {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	owner, is := info.Sys().(*syscall.Stat_t)
	if !is || owner.Uid == 0 {
		return nil
	}
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return nil
		case err != nil:
			return err
		case name == ".":
			return nil
		case !mine(name):
			return skip(entry)
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		stat, is := info.Sys().(*syscall.Stat_t)
		if !is || stat.Uid != 0 || !entry.IsDir() && stat.Nlink > 1 {
			return nil
		}
		return root.Lchown(name, int(owner.Uid), int(owner.Gid))
	})
}

// skip returns the result of a walk that leaves out an entry.
func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}
