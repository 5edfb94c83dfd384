// Package e2e owns the stories that are told against the real binary: a newcomer's first hour, the operator's day, the kill -9 at any instant.
package e2e
