//go:build linux && !amd64 && !arm64

package sandbox

import "errors"

// refuseCalls reports that there is no filter for this machine.
func refuseCalls() error { return errors.New("seccomp: no filter for this kind of processor") }
