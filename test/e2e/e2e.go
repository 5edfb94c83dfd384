// Package e2e owns stories of the real binary: a newcomer's hour, an operator's day, a kill -9.
package e2e
