package main

import "sync/atomic"

var (
	sum    atomic.Int64
	wanted atomic.Int64
	done   = make(chan struct{}, 1)
)

// add is the body of a task: the last one signals that all have run. All numbers are above zero, so the sum is correct
// only if each has been added once.
func add(number int64) {
	if sum.Add(number) == wanted.Load() {
		done <- struct{}{}
	}
}

func submitAll(operations int, execute func(func())) {
	sum.Store(0)
	wanted.Store(int64(operations) * int64(operations+1) / 2)
	for i := int64(1); i <= int64(operations); i++ {
		number := i
		execute(func() { add(number) })
	}
	<-done
}

// pools measures empty tasks submitted by one goroutine: `channel`, to THREADS goroutines that read one channel;
// `goroutines`, a goroutine for each task.
func pools(peer string, threads int, seconds float64) {
	switch peer {
	case "channel":
		tasks := make(chan func(), 1024)
		for i := 0; i < threads; i++ {
			go func() {
				for task := range tasks {
					task()
				}
			}()
		}
		measure("go-channel", seconds, func(n int) { submitAll(n, func(task func()) { tasks <- task }) })
	case "goroutines":
		measure("go-goroutines", seconds, func(n int) { submitAll(n, func(task func()) { go task() }) })
	default:
		complain("a pool is channel or goroutines")
	}
}
