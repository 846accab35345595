package main

import (
	"fmt"
	"runtime"
	"sort"
	"time"
)

var fired = make(chan struct{}, 1)

func never() { check(false) }

// delays gives the same pseudo-random delays, one to two minutes, as the other programs use.
type delays uint64

func (d *delays) next() time.Duration {
	*d = *d*6364136223846793005 + 1442695040888963407
	return time.Minute + time.Duration(uint64(*d)>>33%60_000_000)*time.Microsecond
}

func schedule(timers []*time.Timer, random *delays) {
	for i := range timers {
		timers[i] = time.AfterFunc(random.next(), never)
	}
}

func heapBytes() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// timerRates: with PENDING timers pending, cancels the oldest eighth of them and schedules as many new ones, repeatedly
// for SECONDS.
func timerRates(pending int, seconds float64) {
	random := delays(1)
	waiting := make([]*time.Timer, pending)
	before := heapBytes()
	schedule(waiting, &random)
	bytes := (heapBytes() - before) / uint64(pending)

	var scheduling, cancelling time.Duration
	count := 0
	start := usageNow()
	for round := 0; scheduling+cancelling < time.Duration(seconds*1e9); round++ {
		eighth := waiting[round%8*(pending/8):][:pending/8]
		began := time.Now()
		stopped := true
		for i := range eighth {
			stopped = eighth[i].Stop() && stopped
		}
		between := time.Now()
		schedule(eighth, &random)
		scheduling += time.Since(between)
		cancelling += between.Sub(began)
		check(stopped)
		count += len(eighth)
	}
	used := start.until(usageNow())
	fmt.Printf("peer=go operations=%d seconds=%.6f schedule=%.6f cancel=%.6f cpu=%.6f switches=%d bytes=%d\n", 2*count,
		used.seconds, float64(count)/scheduling.Seconds()/1e6, float64(count)/cancelling.Seconds()/1e6, used.cpu,
		used.switches, bytes)
	runtime.KeepAlive(waiting)
}

// timerLateness: COUNT timers of 1 ms, one after another, while PENDING others wait.
func timerLateness(pending, count int) {
	random := delays(1)
	waiting := make([]*time.Timer, pending)
	schedule(waiting, &random)
	runtime.GC()
	late := make([]float64, count)
	start := usageNow()
	for i := range late {
		due := time.Now().Add(time.Millisecond)
		time.AfterFunc(time.Millisecond, func() {
			late[i] = float64(time.Since(due).Nanoseconds()) / 1e3
			fired <- struct{}{}
		})
		<-fired
	}
	used := start.until(usageNow())
	sort.Float64s(late)
	fmt.Printf("peer=go operations=%d seconds=%.6f median_us=%.3f p99_us=%.3f cpu=%.6f switches=%d\n", count,
		used.seconds, late[count/2], late[count*99/100], used.cpu, used.switches)
	runtime.KeepAlive(waiting)
}
