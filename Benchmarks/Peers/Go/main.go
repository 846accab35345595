// Go's net/http. Without a flag CONNECTIONS goroutines each make their share of N requests, one after another. With
// -many each request has its own goroutine, up to 1,000 at once, and the transport's MaxConnsPerHost limits them to
// CONNECTIONS.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	warmUp = 2000
	window = 1000
)

func fetch(client *http.Client, url string) bool {
	response, err := client.Get(url)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return err == nil && response.StatusCode == http.StatusOK && len(body) > 0
}

// workers makes the requests in `count` goroutines and returns the number of failures.
func workers(client *http.Client, url string, requests, count int) int64 {
	var group sync.WaitGroup
	var errors int64
	for worker := 0; worker < count; worker++ {
		share := requests / count
		if worker < requests%count {
			share++
		}
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < share; i++ {
				if !fetch(client, url) {
					atomic.AddInt64(&errors, 1)
				}
			}
		}()
	}
	group.Wait()
	return errors
}

// many makes each request in its own goroutine and returns the number of failures.
func many(client *http.Client, url string, requests, _ int) int64 {
	var group sync.WaitGroup
	var errors int64
	places := make(chan struct{}, window)
	for i := 0; i < requests; i++ {
		places <- struct{}{}
		group.Add(1)
		go func() {
			defer group.Done()
			if !fetch(client, url) {
				atomic.AddInt64(&errors, 1)
			}
			<-places
		}()
	}
	group.Wait()
	return errors
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func main() {
	each := flag.Bool("many", false, "a goroutine for each request")
	flag.Parse()
	requests, _ := strconv.Atoi(flag.Arg(1))
	connections, _ := strconv.Atoi(flag.Arg(2))
	if flag.NArg() != 3 || requests < 1 || connections < 1 {
		fmt.Fprintln(os.Stderr, "usage: bulk [-many] URL N CONNECTIONS")
		os.Exit(2)
	}
	client := &http.Client{Transport: &http.Transport{
		MaxConnsPerHost:     connections,
		MaxIdleConnsPerHost: connections,
		DisableCompression:  true,
	}}
	name, run := "go", workers
	if *each {
		name, run = "go-many", many
	}

	run(client, flag.Arg(0), warmUp, connections)
	start, cpu := time.Now(), cpuSeconds()
	errors := run(client, flag.Arg(0), requests, connections)
	seconds := time.Since(start).Seconds()
	fmt.Printf("{\"client\":\"%s\",\"requests\":%d,\"seconds\":%.6f,\"cpu\":%.6f,\"errors\":%d}\n",
		name, requests, seconds, cpuSeconds()-cpu, errors)
}
