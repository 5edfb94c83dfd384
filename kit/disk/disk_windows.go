package disk

import "golang.org/x/sys/windows"

// Room returns the free space and the size of the disk of a folder, in bytes.
func Room(dir string) (free, size uint64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, &size, nil)
	return free, size, err
}
