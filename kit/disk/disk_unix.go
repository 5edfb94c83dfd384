//go:build unix

package disk

import "golang.org/x/sys/unix"

// Room returns the free space and the size of the disk of a folder, in bytes. The free space leaves
// out what is reserved for the superuser.
func Room(dir string) (free, size uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	block := uint64(s.Bsize)                                       //nolint:unconvert // signed on Linux only
	return uint64(s.Bavail) * block, uint64(s.Blocks) * block, nil //nolint:unconvert // signed on FreeBSD
}
