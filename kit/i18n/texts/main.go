// Package main owns the command that renames a text in the code, the templates, the scripts and all catalogs.
//
//	go run ./kit/i18n/texts rename "Old text" "New text"
package main

import (
	"fmt"
	"os"

	"kartei/kit/i18n"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "texts:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 || args[0] != "rename" {
		return fmt.Errorf(`usage: texts rename "Old text" "New text"`)
	}
	return rename(".", i18n.Text(args[1]), i18n.Text(args[2]))
}
