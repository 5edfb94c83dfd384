//go:build !linux

package main

// noDumps does nothing on this system. The settings of the system decide about core dumps.
func noDumps() error { return nil }
