package op

import "strconv"

// Tag returns the opaque part of a record's entity tag, for example r7. The
// ETag header has it in double quotes.
func Tag(revision int64) string { return "r" + strconv.FormatInt(revision, 10) }
