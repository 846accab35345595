//! The Rust peers of the thread benchmarks: channels (crossbeam-channel, flume) and pools (rayon, threadpool).
mod measure;
mod pools;
mod queues;

use measure::complain;

const USAGE: &str = "\
usage: rust-threads queues crossbeam|flume stream|pingpong CAPACITY|unbounded THREADS 8|64|new|shared SECONDS
       rust-threads pools rayon|threadpool THREADS SECONDS";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["queues", peer, shape, capacity, threads, element, seconds] => queues::main(
            peer,
            &queues::Shape {
                pingpong: shape == "pingpong",
                capacity: if capacity == "unbounded" { None } else { Some(number(capacity) as usize) },
                threads: number(threads).max(1.0) as u64,
                seconds: number(seconds),
            },
            element,
        ),
        ["pools", peer, threads, seconds] => pools::main(peer, number(threads).max(1.0) as usize, number(seconds)),
        _ => complain(USAGE),
    }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| complain(USAGE))
}
