// Package disk owns the question how much room a disk has.
package disk
