package dispatch

import (
	"container/heap"

	"kartei/kit/clock"
)

// fifo is a first-in, first-out queue.
type fifo[T any] struct {
	list []*T
	head int
}

func (q *fifo[T]) len() int { return len(q.list) - q.head }

func (q *fifo[T]) push(x *T) { q.list = append(q.list, x) }

func (q *fifo[T]) pop() *T {
	x := q.list[q.head]
	q.list[q.head] = nil
	if q.head++; q.head == len(q.list) || q.head > 1024 {
		q.list = append(q.list[:0], q.list[q.head:]...)
		q.head = 0
	}
	return x
}

// timers has the times at which queues may continue. Only the earliest timer of a queue counts.
type timers struct{ list timerHeap }

type timer struct {
	at    clock.Micros
	queue *endpointQueue
}

// set sets the timer of a queue, unless the queue has an earlier timer.
func (a *timers) set(q *endpointQueue, at clock.Micros) {
	if q.timer != 0 && q.timer <= at {
		return
	}
	q.timer = at
	heap.Push(&a.list, timer{at, q})
}

// expired removes the timers that have expired, and returns their queues.
func (a *timers) expired(now clock.Micros) (lanes []*endpointQueue) {
	for len(a.list) > 0 && a.list[0].at <= now {
		rung := heap.Pop(&a.list).(timer)
		if rung.queue.timer == rung.at {
			rung.queue.timer = 0
			lanes = append(lanes, rung.queue)
		}
	}
	return lanes
}

// first returns the time of the earliest timer, or zero if there is no timer.
func (a *timers) first() clock.Micros {
	if len(a.list) == 0 {
		return 0
	}
	return a.list[0].at
}

// timerHeap implements heap.Interface.
type timerHeap []timer

func (a timerHeap) Len() int           { return len(a) }
func (a timerHeap) Less(i, j int) bool { return a[i].at < a[j].at }
func (a timerHeap) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *timerHeap) Push(x any)        { *a = append(*a, x.(timer)) }
func (a *timerHeap) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	(*a)[last] = timer{}
	*a = (*a)[:last]
	return x
}
