package sqlite

import "golang.org/x/sys/windows"

// freeBytes returns the free space on the disk of a folder, in bytes.
func freeBytes(dir string) (free uint64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err
}
