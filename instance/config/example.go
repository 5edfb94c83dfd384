package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// exampleHead is the beginning of the configuration file of the packages.
const exampleHead = `# Settings of Kartei, in TOML. The program reads this file if --config names no other.
#
# A line that begins with '#' and a key shows the default. Remove the '#' to change a setting, and
# restart the server: systemctl restart kartei. An unknown key is refused with its line. The command
# 'kartei config' prints each setting with its value and its source. Flags and variables of the
# environment, such as KARTEI_LISTEN, precede this file.
`

// Example returns the configuration file of the packages. It has every setting with its help text
// and default as a comment. values are the settings that it sets, by the names of their flags.
func Example(values map[string]string) string {
	var b strings.Builder
	b.WriteString(exampleHead)
	for _, group := range []reflect.Type{reflect.TypeFor[Store](), reflect.TypeFor[Server]()} {
		for i := range group.NumField() {
			writeSetting(&b, group.Field(i), values)
		}
	}
	return b.String()
}

// writeSetting writes the help text and the line of one setting.
func writeSetting(b *strings.Builder, setting reflect.StructField, values map[string]string) {
	tag, mark := setting.Tag, "#"
	text := tag.Get("default")
	if value, set := values[tag.Get("name")]; set {
		text, mark = value, ""
	}
	fmt.Fprintf(b, "\n# %s\n", strings.Join(wrap(tag.Get("help"), 98), "\n# "))
	if options := tag.Get("placeholder"); options != "" {
		fmt.Fprintf(b, "# Value: %s\n", options)
	}
	fmt.Fprintf(b, "%s%s = %s\n", mark, Key(tag.Get("name")), literal(setting.Type, text))
}

// literal returns the text of a setting as a TOML value.
func literal(t reflect.Type, text string) string {
	switch {
	case t.Kind() == reflect.Bool:
		return strconv.FormatBool(text == "true")
	case t.Name() == "int":
		return text
	case t.Name() == "" && t.Kind() == reflect.Slice && text == "":
		return "[]"
	}
	return strconv.Quote(text)
}

// wrap divides a text into lines of at most width bytes, if no word is longer.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), word
			continue
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
