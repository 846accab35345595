//! Wall time, processor time, context switches, and a run whose length is determined by shorter ones.
use std::time::Instant;

struct Usage {
    wall: Instant,
    cpu: f64,
    switches: i64,
}

impl Usage {
    fn now() -> Usage {
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
        let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        Usage {
            wall: Instant::now(),
            cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            switches: (usage.ru_nvcsw + usage.ru_nivcsw) as i64,
        }
    }
}

/// Runs growing numbers of operations until a run takes a third of `seconds` (the warm-up), then the number that should
/// take `seconds`, and prints the line for that run. A run that takes less than half the time is repeated.
pub fn measure(peer: &str, seconds: f64, run: impl Fn(u64)) {
    let timed = |mut operations: u64, least: f64| loop {
        let before = Usage::now();
        run(operations);
        let after = Usage::now();
        let took = (after.wall - before.wall).as_secs_f64();
        if took >= least {
            return (operations, took, after.cpu - before.cpu, after.switches - before.switches);
        }
        operations *= if took < least / 8.0 { 8 } else { 2 };
    };
    let (tried, took, _, _) = timed(1024, seconds / 3.0);
    let operations = (tried as f64 * seconds / took) as u64 / 4 * 4 + 4;
    let (operations, took, cpu, switches) = timed(operations, seconds / 2.0);
    println!(
        "peer={} operations={} seconds={:.6} rate={:.6} cpu={:.6} switches={}",
        peer,
        operations,
        took,
        operations as f64 / took / 1e6,
        cpu,
        switches
    );
}

pub fn complain(line: &str) -> ! {
    eprintln!("{}", line);
    std::process::exit(2)
}

/// Exits if a result is wrong: the figures of a faulty run are meaningless.
pub fn check(right: bool) {
    if !right {
        eprintln!("rust-threads: the elements that came are not those that were sent");
        std::process::exit(1)
    }
}
