package sqlite

import (
	"fmt"
	"reflect"

	"kartei/kit/clock"
	"kartei/store/db/sqlite/driver"
)

// scanRow scans the current row of a SQLite statement into dest.
func scanRow(s *driver.Stmt, dest []any) error {
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

func scanColumn(s *driver.Stmt, i int, dest any) error {
	have := s.Kind(i)
	switch d := dest.(type) {
	case *string:
		if have == driver.Text {
			*d = s.Text(i)
			return nil
		}
	case *int64:
		if have == driver.Integer {
			*d = s.Int(i)
			return nil
		}
	case *int:
		if have == driver.Integer {
			*d = int(s.Int(i))
			return nil
		}
	case *bool:
		if have == driver.Integer {
			*d = s.Int(i) != 0
			return nil
		}
	case *clock.Micros:
		if have == driver.Integer {
			*d = clock.Micros(s.Int(i))
			return nil
		}
	case **string:
		if have == driver.Null {
			*d = nil
			return nil
		}
		if have == driver.Text {
			text := s.Text(i)
			*d = &text
			return nil
		}
	case *[]byte:
		switch have {
		case driver.Null:
			*d = nil
			return nil
		case driver.Text, driver.Blob:
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

func scanReflected(s *driver.Stmt, i, have int, target reflect.Value) error {
	switch kind := target.Kind(); {
	case kind == reflect.Pointer:
		if have == driver.Null {
			target.SetZero()
			return nil
		}
		fresh := reflect.New(target.Type().Elem())
		if err := scanReflected(s, i, have, fresh.Elem()); err != nil {
			return err
		}
		target.Set(fresh)
		return nil
	case have == driver.Null && kind == reflect.Slice:
		target.SetZero()
		return nil
	case have == driver.Text && kind == reflect.String:
		target.SetString(s.Text(i))
		return nil
	case have == driver.Text && kind == reflect.Slice && target.Type().Elem().Kind() == reflect.Uint8:
		target.SetBytes(s.Bytes(i))
		return nil
	case have == driver.Integer && target.CanInt():
		if n := s.Int(i); !target.OverflowInt(n) {
			target.SetInt(n)
			return nil
		}
	case have == driver.Integer && kind == reflect.Bool:
		target.SetBool(s.Int(i) != 0)
		return nil
	case (have == driver.Float || have == driver.Integer) && target.CanFloat():
		target.SetFloat(s.Float(i))
		return nil
	}
	return fmt.Errorf("db: column %d: %s into %s", i, kindName(have), target.Type())
}

func kindName(k int) string {
	switch k {
	case driver.Integer:
		return "a whole number"
	case driver.Float:
		return "a fraction"
	case driver.Text:
		return "text"
	case driver.Blob:
		return "bytes"
	}
	return "null"
}
