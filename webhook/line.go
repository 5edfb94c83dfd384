package webhook

import (
	"container/heap"

	"kartei/kit/clock"
)

// queue is a line, first in, first out.
type queue[T any] struct {
	list []*T
	head int
}

func (q *queue[T]) len() int { return len(q.list) - q.head }

func (q *queue[T]) push(x *T) { q.list = append(q.list, x) }

func (q *queue[T]) pop() *T {
	x := q.list[q.head]
	q.list[q.head] = nil
	if q.head++; q.head == len(q.list) || q.head > 1024 {
		q.list = append(q.list[:0], q.list[q.head:]...)
		q.head = 0
	}
	return x
}

// alarms are the times at which lanes may go on. A lane has one at most that
// counts: its first.
type alarms struct{ list alarmList }

type alarm struct {
	at   clock.Micros
	lane *lane
}

// set has a lane rung for at a time, or before.
func (a *alarms) set(l *lane, at clock.Micros) {
	if l.alarm != 0 && l.alarm <= at {
		return
	}
	l.alarm = at
	heap.Push(&a.list, alarm{at, l})
}

// ring returns the lanes whose time has come.
func (a *alarms) ring(now clock.Micros) (lanes []*lane) {
	for len(a.list) > 0 && a.list[0].at <= now {
		rung := heap.Pop(&a.list).(alarm)
		if rung.lane.alarm == rung.at {
			rung.lane.alarm = 0
			lanes = append(lanes, rung.lane)
		}
	}
	return lanes
}

// first is when the first rings; zero is never.
func (a *alarms) first() clock.Micros {
	if len(a.list) == 0 {
		return 0
	}
	return a.list[0].at
}

// alarmList is a heap.
type alarmList []alarm

func (a alarmList) Len() int           { return len(a) }
func (a alarmList) Less(i, j int) bool { return a[i].at < a[j].at }
func (a alarmList) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *alarmList) Push(x any)        { *a = append(*a, x.(alarm)) }
func (a *alarmList) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	(*a)[last] = alarm{}
	*a = (*a)[:last]
	return x
}
