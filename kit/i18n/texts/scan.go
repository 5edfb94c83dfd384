package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kartei/kit/i18n"
)

const i18nPath = "kartei/kit/i18n"

// use is a place in the code with a constant text.
type use struct {
	text i18n.Text
	// many is the plural of the text, if the text is the singular in a call of Plural.
	many i18n.Text
	// counts says that the text is the plural in a call of Plural, so its translation has plural
	// forms.
	counts bool
	file   string
	line   int
	// from and to are the offsets in bytes of the expression in its file.
	from, to int
}

// scan is the result of reading the code.
type scan struct {
	uses []use
	// variable has the places that convert a string to a Text, where the string is no constant.
	variable []string
	// unsaid has the places that use a Text as a string without a translation.
	unsaid []string
	// mismatched has the calls with a wrong number or type of values for the verbs of their text.
	mismatched []string
}

// goPackage is a package in the output of go list.
type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
}

// scanModule reads all packages of the module in dir with their types, and the scripts of the
// pages. It returns an error if the code does not compile.
func scanModule(dir string) (*scan, error) {
	packages, err := list(dir)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	s, files := &scan{}, token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	for _, p := range packages {
		if p.Module == nil || !p.Module.Main {
			continue
		}
		if err := s.check(files, imports, p); err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "web/script/*.js"))
	if err != nil {
		return nil, err
	}
	for _, name := range append(scripts, filepath.Join(dir, "web/static/pages.js")) {
		if err := s.script(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// list returns the packages of the module in dir and their dependencies, with export data.
func list(dir string) ([]goPackage, error) {
	c := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,Module", "./...")
	c.Dir, c.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, said.Bytes())
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}

// check adds the texts of one package to the scan.
func (s *scan) check(files *token.FileSet, imports types.Importer, p goPackage) error {
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	c := types.Config{Importer: imports}
	if _, err := c.Check(p.ImportPath, files, parsed, info); err != nil {
		return err
	}
	for _, f := range parsed {
		v := &visitor{scan: s, files: files, info: info, inside: p.ImportPath == i18nPath}
		ast.Inspect(f, v.visit)
	}
	return nil
}

// visitor adds the texts of one file to a scan.
type visitor struct {
	*scan
	files  *token.FileSet
	info   *types.Info
	inside bool // says that the file belongs to package i18n itself
}

// isText reports whether a type is i18n.Text.
func isText(t types.Type) bool {
	n, is := t.(*types.Named)
	return is && n.Obj().Name() == "Text" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == i18nPath
}

// visit is a function for ast.Inspect. It adds the text of a node, and returns false if the
// children of the node need no visit.
func (v *visitor) visit(n ast.Node) bool {
	e, is := n.(ast.Expr)
	if !is {
		return true
	}
	if call, is := e.(*ast.CallExpr); is {
		if v.plural(call) {
			return false
		}
		v.count(call)
		v.write(call)
	}
	tv := v.info.Types[e]
	if tv.Type == nil || !isText(tv.Type) || tv.IsType() {
		return true
	}
	if tv.Value != nil {
		v.add(e, use{text: textOf(tv.Value)})
		return false
	}
	if call, is := e.(*ast.CallExpr); is && !v.inside && v.info.Types[call.Fun].IsType() {
		v.variable = append(v.variable, v.files.Position(e.Pos()).String())
	}
	return true
}

// plural adds the texts of a call of Plural. It reports whether call is a call of Plural with
// constant texts.
func (v *visitor) plural(call *ast.CallExpr) bool {
	if nameOf(call) != "Plural" || len(call.Args) != 3 {
		return false
	}
	one, many := v.info.Types[call.Args[1]], v.info.Types[call.Args[2]]
	if one.Value == nil || many.Value == nil || one.Type == nil || !isText(one.Type) {
		return false
	}
	v.add(call.Args[1], use{text: textOf(one.Value), many: textOf(many.Value)})
	v.add(call.Args[2], use{text: textOf(many.Value), counts: true})
	ast.Inspect(call.Args[0], v.visit)
	return true
}

// write adds a call to unsaid if it converts a Text to a string or writes a Text to a page.
func (v *visitor) write(call *ast.CallExpr) {
	f := v.info.Types[call.Fun]
	if len(call.Args) == 0 || v.inside ||
		!(f.IsType() && types.Identical(f.Type, types.Typ[types.String]) || nameOf(call) == "JoinStringErrs") {
		return
	}
	if t := v.info.Types[call.Args[0]].Type; t != nil && isText(t) {
		v.unsaid = append(v.unsaid, v.files.Position(call.Pos()).String())
	}
}

// nameOf returns the name of the function that is called, without its package or receiver.
func nameOf(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// count adds a call to mismatched if its values do not fit the verbs of its text.
func (v *visitor) count(call *ast.CallExpr) {
	name := nameOf(call)
	if len(call.Args) == 0 || call.Ellipsis.IsValid() || name != "Say" && name != "say" && name != "Format" {
		return
	}
	text := v.info.Types[call.Args[0]]
	if text.Value == nil || !isText(text.Type) || len(call.Args) == 1 && name != "Format" {
		return
	}
	places := strings.Fields(verbs(string(textOf(text.Value))))
	for i, value := range call.Args[1:] {
		if b, is := v.info.Types[value].Type.Underlying().(*types.Basic); is && b.Info()&types.IsNumeric != 0 &&
			slices.Contains(places, strconv.Itoa(i+1)+"s") {
			v.mismatched = append(v.mismatched,
				fmt.Sprintf("%s: %%s for a number: use %%d, or i18n.Number", v.files.Position(value.Pos())))
		}
	}
	if len(places) != len(call.Args)-1 {
		v.mismatched = append(v.mismatched,
			fmt.Sprintf("%s: %d values for %q", v.files.Position(call.Pos()), len(call.Args)-1, textOf(text.Value)))
	}
}

func textOf(v constant.Value) i18n.Text { return i18n.Text(constant.StringVal(v)) }

func (v *visitor) add(e ast.Expr, u use) {
	from, to := v.files.Position(e.Pos()), v.files.Position(e.End())
	u.file, u.line, u.from, u.to = from.Filename, from.Line, from.Offset, to.Offset
	v.uses = append(v.uses, u)
}

// saidInScript matches a call of say in a script, such as say("Copied"), up to the end of the text.
var saidInScript = regexp.MustCompile(`\bsay\(("(?:[^"\\]|\\.)*")`)

// script adds the texts of a script. It returns an error for calls of say without a constant text.
func (s *scan) script(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for _, at := range saidInScript.FindAllSubmatchIndex(b, -1) {
		var text string
		if err := json.Unmarshal(b[at[2]:at[3]], &text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.uses = append(s.uses, use{
			text: i18n.Text(text), file: name, line: 1 + bytes.Count(b[:at[0]], []byte("\n")), from: at[2], to: at[3],
		})
	}
	if strings.Contains(string(b), "%[") {
		return fmt.Errorf("%s: say in a script has no %%[1]s", name)
	}
	if calls := strings.Count(string(b), "say("); calls != len(saidInScript.FindAll(b, -1)) {
		return fmt.Errorf("%s: say has a text that is no constant in double quotes", name)
	}
	return nil
}

// verb matches a verb of fmt.Sprintf, such as %s or %[2]d.
var verb = regexp.MustCompile(`%%|%(?:\[(\d+)\])?([a-z])`)

// verbs returns the verbs of a text, each with the number of its value, sorted. For "%s of %d" it
// is "1s 2d".
func verbs(text string) string {
	var found []string
	n := 0
	for _, m := range verb.FindAllStringSubmatch(text, -1) {
		switch {
		case m[0] == "%%":
			continue
		case m[1] != "":
			found = append(found, m[1]+m[2])
		default:
			n++
			found = append(found, strconv.Itoa(n)+m[2])
		}
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}
