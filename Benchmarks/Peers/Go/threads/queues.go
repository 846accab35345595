package main

import (
	"math"
	"sync"
)

// standIn is the capacity of the channel that replaces an unbounded one, which Go does not have.
const standIn = 1 << 20

type wide [8]uint64

// The loops are written out for each element type, so that there is no call through a pointer for each element.

func putWords(c chan<- uint64, first, step, count uint64) {
	for i := uint64(0); i < count; i++ {
		c <- first + i*step
	}
}

func takeWords(c <-chan uint64, count uint64) (sum uint64) {
	for i := uint64(0); i < count; i++ {
		sum += <-c
	}
	return
}

func putWide(c chan<- wide, first, step, count uint64) {
	for i := uint64(0); i < count; i++ {
		c <- wide{0: first + i*step, 7: 1}
	}
}

func takeWide(c <-chan wide, count uint64) (sum uint64) {
	for i := uint64(0); i < count; i++ {
		element := <-c
		sum += element[0] * element[7]
	}
	return
}

func putNew(c chan<- *uint64, first, step, count uint64) {
	for i := uint64(0); i < count; i++ {
		element := new(uint64)
		*element = first + i*step
		c <- element
	}
}

const cycle = 1024

// shared are the objects that putShared puts one after another.
var shared [cycle]*uint64

func init() {
	for i := range shared {
		shared[i] = new(uint64)
		*shared[i] = uint64(i)
	}
}

func putShared(c chan<- *uint64, first, step, count uint64) {
	for i := uint64(0); i < count; i++ {
		c <- shared[(first+i*step)%cycle]
	}
}

func takeObjects(c <-chan *uint64, count uint64) (sum uint64) {
	for i := uint64(0); i < count; i++ {
		sum += *<-c
	}
	return
}

func stream[T any](
	operations, threads int, cycle uint64, channel chan T,
	put func(chan<- T, uint64, uint64, uint64), take func(<-chan T, uint64) uint64,
) {
	each := uint64(operations / threads)
	sums := make([]uint64, threads)
	var group sync.WaitGroup
	group.Add(2 * threads)
	for thread := 0; thread < threads; thread++ {
		go func(first uint64) {
			defer group.Done()
			put(channel, first, uint64(threads), each)
		}(uint64(thread))
		go func(thread int) {
			defer group.Done()
			sums[thread] = take(channel, each)
		}(thread)
	}
	group.Wait()
	var sum uint64
	for _, part := range sums {
		sum += part
	}
	count := each * uint64(threads)
	check(sum == sumOf(count, cycle))
}

// sumOf is the sum of `count` numbers that restart at 0 after every `cycle` of them.
func sumOf(count, cycle uint64) uint64 {
	if count < cycle {
		return count * (count - 1) / 2
	}
	rest := count % cycle
	return count/cycle*(cycle*(cycle-1)/2) + rest*(rest-1)/2
}

func pingpong(operations int, there, back chan uint64) {
	go func() {
		for i := 0; i < operations; i++ {
			back <- <-there
		}
	}()
	for i := 0; i < operations; i++ {
		there <- uint64(i)
		check(<-back == uint64(i))
	}
}

func queues(playing bool, capacity, threads int, element string, seconds float64) {
	const never = math.MaxUint64
	switch {
	case playing:
		there, back := make(chan uint64, capacity), make(chan uint64, capacity)
		measure("go", seconds, func(n int) { pingpong(n, there, back) })
	case element == "8":
		channel := make(chan uint64, capacity)
		measure("go", seconds, func(n int) { stream(n, threads, never, channel, putWords, takeWords) })
	case element == "64":
		channel := make(chan wide, capacity)
		measure("go", seconds, func(n int) { stream(n, threads, never, channel, putWide, takeWide) })
	case element == "new":
		channel := make(chan *uint64, capacity)
		measure("go", seconds, func(n int) { stream(n, threads, never, channel, putNew, takeObjects) })
	case element == "shared":
		channel := make(chan *uint64, capacity)
		measure("go", seconds, func(n int) { stream(n, threads, cycle, channel, putShared, takeObjects) })
	default:
		complain("an element is 8, 64, new or shared")
	}
}
