//! Empty tasks in a pool: one thread submits them, each adds its number to one atomic word, the last signals that all
//! have run.
use crate::measure::{complain, measure};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

static SUM: AtomicU64 = AtomicU64::new(0);
static WANTED: AtomicU64 = AtomicU64::new(0);
static DONE: Mutex<bool> = Mutex::new(false);
static DONE_CHANGED: Condvar = Condvar::new();

pub fn main(peer: &str, threads: usize, seconds: f64) {
    match peer {
        "rayon" => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            measure(peer, seconds, |n| run(n, |i| pool.spawn(move || add(i))));
        }
        "threadpool" => {
            let pool = threadpool::ThreadPool::new(threads);
            measure(peer, seconds, |n| run(n, |i| pool.execute(move || add(i))));
        }
        _ => complain("a pool is rayon or threadpool"),
    }
}

fn add(number: u64) {
    if SUM.fetch_add(number, Ordering::AcqRel) + number == WANTED.load(Ordering::Relaxed) {
        *DONE.lock().expect("not poisoned") = true;
        DONE_CHANGED.notify_one();
    }
}

/// All numbers are above zero, so the sum is correct only if each has been added once.
fn run(operations: u64, submit: impl Fn(u64)) {
    SUM.store(0, Ordering::Relaxed);
    WANTED.store(operations * (operations + 1) / 2, Ordering::Release);
    (1..=operations).for_each(submit);
    let mut done = DONE.lock().expect("not poisoned");
    while !*done {
        done = DONE_CHANGED.wait(done).expect("not poisoned");
    }
    *done = false;
}
