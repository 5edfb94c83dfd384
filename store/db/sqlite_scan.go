package db

import (
	"fmt"
	"reflect"

	"kartei/kit/clock"
	"kartei/store/db/sqlite"
)

// scanRow scans the current row of a SQLite statement into dest.
func scanRow(s *sqlite.Stmt, dest []any) error {
	if len(dest) != s.Columns() {
		return fmt.Errorf("db: %d destinations for %d columns", len(dest), s.Columns())
	}
	for i, d := range dest {
		if err := scanColumn(s, i, d); err != nil {
			return err
		}
	}
	return nil
}

func scanColumn(s *sqlite.Stmt, i int, dest any) error {
	have := s.Kind(i)
	switch d := dest.(type) {
	case *string:
		if have == sqlite.Text {
			*d = s.Text(i)
			return nil
		}
	case *int64:
		if have == sqlite.Integer {
			*d = s.Int(i)
			return nil
		}
	case *int:
		if have == sqlite.Integer {
			*d = int(s.Int(i))
			return nil
		}
	case *bool:
		if have == sqlite.Integer {
			*d = s.Int(i) != 0
			return nil
		}
	case *clock.Micros:
		if have == sqlite.Integer {
			*d = clock.Micros(s.Int(i))
			return nil
		}
	case **string:
		if have == sqlite.Null {
			*d = nil
			return nil
		}
		if have == sqlite.Text {
			text := s.Text(i)
			*d = &text
			return nil
		}
	case *[]byte:
		switch have {
		case sqlite.Null:
			*d = nil
			return nil
		case sqlite.Text, sqlite.Blob:
			*d = s.Bytes(i)
			return nil
		}
	}
	target := reflect.ValueOf(dest)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("db: column %d: destination %T is not a pointer", i, dest)
	}
	return scanReflected(s, i, have, target.Elem())
}

func scanReflected(s *sqlite.Stmt, i, have int, target reflect.Value) error {
	switch kind := target.Kind(); {
	case kind == reflect.Pointer:
		if have == sqlite.Null {
			target.SetZero()
			return nil
		}
		fresh := reflect.New(target.Type().Elem())
		if err := scanReflected(s, i, have, fresh.Elem()); err != nil {
			return err
		}
		target.Set(fresh)
		return nil
	case have == sqlite.Null && kind == reflect.Slice:
		target.SetZero()
		return nil
	case have == sqlite.Text && kind == reflect.String:
		target.SetString(s.Text(i))
		return nil
	case have == sqlite.Text && kind == reflect.Slice && target.Type().Elem().Kind() == reflect.Uint8:
		target.SetBytes(s.Bytes(i))
		return nil
	case have == sqlite.Integer && target.CanInt():
		if n := s.Int(i); !target.OverflowInt(n) {
			target.SetInt(n)
			return nil
		}
	case have == sqlite.Integer && kind == reflect.Bool:
		target.SetBool(s.Int(i) != 0)
		return nil
	case (have == sqlite.Float || have == sqlite.Integer) && target.CanFloat():
		target.SetFloat(s.Float(i))
		return nil
	}
	return fmt.Errorf("db: column %d: %s into %s", i, kindName(have), target.Type())
}

func kindName(k int) string {
	switch k {
	case sqlite.Integer:
		return "a whole number"
	case sqlite.Float:
		return "a fraction"
	case sqlite.Text:
		return "text"
	case sqlite.Blob:
		return "bytes"
	}
	return "null"
}
