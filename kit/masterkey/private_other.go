//go:build !unix

package masterkey

import "os"

// private accepts every file: here the system decides about access.
func private(*os.File) error { return nil }
