//! Elements moved through a channel: `stream`, T threads send and T receive; `pingpong`, one element at a time goes
//! back and forth between two threads over two channels. Each element is created by its sender and read by its
//! receiver: a word, eight words, a new object (a Box), or one of 1,024 existing counted objects (an Arc).
use crate::measure::{check, complain, measure};
use std::sync::Arc;
use std::thread;

pub struct Shape {
    pub pingpong: bool,
    pub capacity: Option<usize>,
    pub threads: u64,
    pub seconds: f64,
}

/// An element: created from a number, and read completely.
trait Element: Send + 'static {
    /// The count after which the numbers restart, if they do.
    const CYCLE: u64 = u64::MAX;
    fn new(number: u64) -> Self;
    fn number(&self) -> u64;
}

impl Element for u64 {
    fn new(number: u64) -> u64 {
        number
    }
    fn number(&self) -> u64 {
        *self
    }
}

struct Wide([u64; 8]);

impl Element for Wide {
    fn new(number: u64) -> Wide {
        Wide([number, 0, 0, 0, 0, 0, 0, 1])
    }
    fn number(&self) -> u64 {
        self.0[0] * self.0[7]
    }
}

impl Element for Box<u64> {
    fn new(number: u64) -> Box<u64> {
        Box::new(number)
    }
    fn number(&self) -> u64 {
        **self
    }
}

thread_local! {
    static SHARED: Vec<Arc<u64>> = (0..Arc::<u64>::CYCLE).map(Arc::new).collect();
}

impl Element for Arc<u64> {
    const CYCLE: u64 = 1024;
    fn new(number: u64) -> Arc<u64> {
        SHARED.with(|objects| objects[(number % Self::CYCLE) as usize].clone())
    }
    fn number(&self) -> u64 {
        **self
    }
}

trait Sender<T>: Clone + Send {
    fn put(&self, element: T);
}

trait Receiver<T>: Clone + Send {
    fn take(&self) -> T;
}

impl<T: Send> Sender<T> for crossbeam_channel::Sender<T> {
    fn put(&self, element: T) {
        check(self.send(element).is_ok())
    }
}

impl<T: Send> Receiver<T> for crossbeam_channel::Receiver<T> {
    fn take(&self) -> T {
        self.recv().expect("the sender is there")
    }
}

impl<T: Send> Sender<T> for flume::Sender<T> {
    fn put(&self, element: T) {
        check(self.send(element).is_ok())
    }
}

impl<T: Send> Receiver<T> for flume::Receiver<T> {
    fn take(&self) -> T {
        self.recv().expect("the sender is there")
    }
}

pub fn main(peer: &str, shape: &Shape, element: &str) {
    match element {
        "8" => with_element::<u64>(peer, shape),
        "64" => with_element::<Wide>(peer, shape),
        "new" => with_element::<Box<u64>>(peer, shape),
        "shared" => with_element::<Arc<u64>>(peer, shape),
        _ => complain("an element is 8, 64, new or shared"),
    }
}

fn with_element<T: Element>(peer: &str, shape: &Shape) {
    match peer {
        "crossbeam" => with_channel::<T, _, _>(peer, shape, || match shape.capacity {
            Some(capacity) => crossbeam_channel::bounded(capacity),
            None => crossbeam_channel::unbounded(),
        }),
        "flume" => with_channel::<T, _, _>(peer, shape, || match shape.capacity {
            Some(capacity) => flume::bounded(capacity),
            None => flume::unbounded(),
        }),
        _ => complain("a channel is crossbeam or flume"),
    }
}

fn with_channel<T: Element, S: Sender<T>, R: Receiver<T>>(peer: &str, shape: &Shape, channel: impl Fn() -> (S, R)) {
    if shape.pingpong {
        let ((there, at_there), (back, at_back)) = (channel(), channel());
        measure(peer, shape.seconds, |n| pingpong(n, &there, &at_there, &back, &at_back));
    } else {
        let (sender, receiver) = channel();
        measure(peer, shape.seconds, |n| stream(n, shape.threads, &sender, &receiver));
    }
}

fn stream<T: Element, S: Sender<T>, R: Receiver<T>>(operations: u64, threads: u64, sender: &S, receiver: &R) {
    let each = operations / threads;
    let sum: u64 = thread::scope(|scope| {
        for first in 0..threads {
            let sender = sender.clone();
            scope.spawn(move || {
                for i in 0..each {
                    sender.put(T::new(first + i * threads));
                }
            });
        }
        let takers: Vec<_> = (0..threads)
            .map(|_| {
                let receiver = receiver.clone();
                scope.spawn(move || (0..each).fold(0u64, |sum, _| sum + receiver.take().number()))
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().expect("a taker ends")).sum()
    });
    let count = each * threads;
    check(sum == sum_of(count, T::CYCLE));
}

/// The sum of `count` numbers that restart at 0 after every `cycle` of them.
fn sum_of(count: u64, cycle: u64) -> u64 {
    let of_first = |count: u64| count * count.saturating_sub(1) / 2;
    if count < cycle {
        return of_first(count);
    }
    count / cycle * of_first(cycle) + of_first(count % cycle)
}

fn pingpong<T: Element, S: Sender<T>, R: Receiver<T>>(operations: u64, there: &S, at_there: &R, back: &S, at_back: &R) {
    thread::scope(|scope| {
        let (at_there, back) = (at_there.clone(), back.clone());
        scope.spawn(move || {
            for _ in 0..operations {
                back.put(at_there.take());
            }
        });
        for i in 0..operations {
            there.put(T::new(i));
            check(at_back.take().number() == i % T::CYCLE);
        }
    });
}
