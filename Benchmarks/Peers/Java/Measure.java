import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Wall time, processor time, context switches, and a run whose length is determined by shorter ones. */
final class Measure {
  /** How long a run is repeated before the measurement, so that it is compiled, in seconds. */
  private static final double WARM_UP = 0.6;

  private static final com.sun.management.OperatingSystemMXBean SYSTEM =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private Measure() {}

  /** The resources that the process has used so far: the difference between two of these is the usage of a run. */
  record Usage(double seconds, double cpu, long switches) {
    static Usage now() {
      return new Usage(System.nanoTime() / 1e9, SYSTEM.getProcessCpuTime() / 1e9, contextSwitches());
    }

    Usage since(Usage before) {
      return new Usage(seconds - before.seconds, cpu - before.cpu, switches - before.switches);
    }
  }

  /** A run: performs a number of operations, records the usage before its threads end, and returns it. */
  interface Run {
    Usage run(long operations) throws Exception;
  }

  /** Warms up, then runs as many operations as should take `seconds`, and prints the line for that run. */
  static void measure(String peer, double seconds, Run run) throws Exception {
    long operations = 1024;
    Usage used;
    double least = seconds / 3;
    double enough = System.nanoTime() / 1e9 + WARM_UP;
    while (true) {
      Usage before = Usage.now();
      used = run.run(operations).since(before);
      if (used.seconds < least) {
        operations *= used.seconds < least / 8 ? 8 : 2;
      } else if (least == seconds / 2) {
        break;
      } else if (before.seconds + used.seconds >= enough) {
        operations = (long) (operations * (seconds / used.seconds)) / 4 * 4 + 4;
        least = seconds / 2;
      }
    }
    System.out.printf("peer=%s operations=%d seconds=%.6f rate=%.6f cpu=%.6f switches=%d%n", peer, operations,
        used.seconds, operations / used.seconds / 1e6, used.cpu, used.switches);
  }

  /** The context switches of the running threads: Java has no getrusage, and those of ended threads are lost. */
  private static long contextSwitches() {
    long sum = 0;
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
      for (Path thread : threads) sum += contextSwitches(thread.resolve("status"));
    } catch (IOException error) {
      return 0; // not Linux
    }
    return sum;
  }

  private static long contextSwitches(Path status) {
    try {
      return Files.readAllLines(status).stream().filter(line -> line.contains("ctxt_switches"))
          .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1).strip())).sum();
    } catch (IOException error) {
      return 0; // a thread of the virtual machine that has just ended
    }
  }

  /** Exits if a result is wrong: the figures of a faulty run are meaningless. */
  static void check(boolean right) {
    if (right) return;
    System.err.println("Peers: what came is not what was sent");
    Runtime.getRuntime().halt(1);
  }

  static void complain(String line) {
    System.err.println(line);
    Runtime.getRuntime().halt(2);
  }
}
