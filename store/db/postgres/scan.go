package postgres

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"kartei/kit/clock"
)

// scanPlain scans a row without nulls into variables of common types. It returns false if the types
// do not match exactly, and pgx must scan the row. pgx looks up the conversions for each row. That
// is 2 of the 45 µs that a read takes this process.
func scanPlain(fields []pgconn.FieldDescription, values [][]byte, dest []any) bool {
	if len(fields) != len(dest) || len(values) != len(dest) {
		return false
	}
	for i, v := range values {
		f := &fields[i]
		is := false
		switch d := dest[i].(type) {
		case *int64:
			*d, is = whole(f, v)
		case *clock.Micros:
			var n int64
			n, is = whole(f, v)
			*d = clock.Micros(n)
		case *string:
			if is = v != nil && f.DataTypeOID == pgtype.TextOID; is {
				*d = string(v)
			}
		case *[]byte:
			if is = v != nil && f.DataTypeOID == pgtype.TextOID; is {
				*d = append(make([]byte, 0, len(v)), v...)
			}
		case *bool:
			if is = f.DataTypeOID == pgtype.BoolOID && f.Format == pgx.BinaryFormatCode && len(v) == 1; is {
				*d = v[0] != 0
			}
		}
		if !is {
			return false
		}
	}
	return true
}

// whole decodes an integer in binary format.
func whole(f *pgconn.FieldDescription, v []byte) (n int64, is bool) {
	switch {
	case f.Format != pgx.BinaryFormatCode:
	case f.DataTypeOID == pgtype.Int8OID && len(v) == 8:
		return int64(binary.BigEndian.Uint64(v)), true
	case f.DataTypeOID == pgtype.Int4OID && len(v) == 4:
		return int64(int32(binary.BigEndian.Uint32(v))), true
	case f.DataTypeOID == pgtype.Int2OID && len(v) == 2:
		return int64(int16(binary.BigEndian.Uint16(v))), true
	}
	return 0, false
}
