// Package e2e owns tests of the real binary: the first hour of a newcomer, the day of an operator, kill -9.
package e2e
