//go:build !linux || (!amd64 && !arm64)

package extract

var systemReaders map[string]reader

func runWithout([]string) {}
