package search

import (
	"errors"
	"slices"
	"strings"

	"kartei/kit/clock"
	"kartei/record/search/packed"
	"kartei/store/db"
)

// move is the part of a change that a Mover carries out. It brings the postings of some words
// into agreement with the row of their record. Until then, readers check the row, so an old
// posting shows the record only to readers who may see it. Moves are idempotent, and their order
// does not matter.
type move struct {
	created clock.Micros
	// audiences are the audiences under which postings may exist before or after the move.
	audiences []string
	words     []posting
}

const (
	selectMoves = `select audiences, words from search_moves where organization = $1 and family = $2 and created = $3 order by number`
	deleteMoves = `delete from search_moves where organization = $1 and family = $2 and created = $3`
	insertMove  = `insert into search_moves (organization, family, created, number, audiences, words) values ($1, $2, $3, $4, $5, $6)`
)

// movesTopic is the topic of the messages that wake a Mover.
const movesTopic = "search_moves"

// move carries out the first part of m, which has the words of the lowest ranks. It stores the
// rest for a Mover. row is the row of the record after the change.
func (s segments) move(m move, row document) error {
	if len(m.words) <= s.atOnce {
		return s.carryOut(m, row)
	}
	if held, err := s.holding(m.created); err != nil || len(held) == 0 {
		return err
	}
	m, err := s.withLeft(m)
	if err != nil {
		return err
	}
	s.tx.Queue(deleteMoves, s.organization, s.family, int64(m.created))
	left := slices.Chunk(m.words[s.atOnce:], s.atOnce)
	m.words = m.words[:s.atOnce]
	number := 0
	for words := range left {
		s.tx.Queue(insertMove, s.organization, s.family, int64(m.created), number, strings.Join(m.audiences, " "),
			join(words))
		number++
	}
	s.tx.NotifyLocal(movesTopic, "")
	return s.carryOut(m, row)
}

// withLeft returns m together with the unfinished moves of the record. So a record never has more
// than one list of moves.
func (s segments) withLeft(m move) (move, error) {
	rows, err := s.tx.Query(s.ctx, selectMoves, s.organization, s.family, int64(m.created))
	if err != nil {
		return move{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var audiences, words string
		if err := rows.Scan(&audiences, &words); err != nil {
			return move{}, err
		}
		m.audiences = union(m.audiences, strings.Split(audiences, " "), strings.Compare)
		m.words = union(m.words, parse(words), posting.compare)
	}
	return m, rows.Err()
}

// carryOut inserts and removes postings of m until they agree with row.
func (s segments) carryOut(m move, row document) error {
	var under []string
	if row.id != "" {
		under = Audiences(row.audience)
	}
	var list []change
	for _, p := range m.words {
		has := holds(row.words, p)
		for _, audience := range m.audiences {
			stays := has && slices.Contains(under, audience)
			list = append(list, change{
				postingKey{audience, p.rank, packed.Entry{Word: p.word, Position: -int64(m.created)}},
				!stays,
			})
		}
	}
	return s.change(m.created, list)
}

// next carries out a move of the first record after a tick. After the last record, it continues
// with the first. It returns the tick of the record's creation, or 0 if no move is left. The
// transaction must hold the organization's change clock.
func (s segments) next(after clock.Micros) (served clock.Micros, err error) {
	var m move
	var number int64
	var under, words string
	read := func(after clock.Micros) error {
		return s.tx.QueryRow(s.ctx, `select created, number, audiences, words from search_moves
			where organization = $1 and family = $2 and created > $3 order by created, number limit 1`,
			s.organization, s.family, int64(after)).Scan(&m.created, &number, &under, &words)
	}
	if err = read(after); errors.Is(err, db.ErrNoRows) && after > 0 {
		err = read(0)
	}
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	row, err := s.row(m.created)
	if err != nil {
		return 0, err
	}
	m.words, m.audiences = parse(words), strings.Split(under, " ")
	s.tx.Queue(`delete from search_moves where organization = $1 and family = $2 and created = $3 and number = $4`,
		s.organization, s.family, int64(m.created), number)
	return m.created, s.carryOut(m, row)
}

// row returns the row of a record, or the zero value if the record was deleted.
func (s segments) row(created clock.Micros) (d document, err error) {
	err = s.tx.QueryRow(s.ctx, selectDocument, s.organization, s.family, int64(created)).Scan(&d.audience, &d.id, &d.words)
	if errors.Is(err, db.ErrNoRows) {
		err = nil
	}
	return d, err
}

// union returns the sorted union of a and b.
func union[T comparable](a, b []T, compare func(x, y T) int) []T {
	all := slices.Concat(a, b)
	slices.SortFunc(all, compare)
	return slices.Compact(all)
}
