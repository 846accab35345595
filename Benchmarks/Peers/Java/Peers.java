/** The Java peers of the thread benchmarks: blocking queues, executors. */
public final class Peers {
  private static final String USAGE =
      """
      usage: Peers queues array|linked|synchronous stream|pingpong CAPACITY|unbounded THREADS 8|64|new|shared SECONDS
             Peers pools executor|forkjoin execute|submit THREADS SECONDS""";

  public static void main(String[] words) throws Exception {
    try {
      switch (words.length == 0 ? "" : words[0] + words.length) {
        case "queues7" -> Queues.main(words[1], words[2].equals("pingpong"),
            words[3].equals("unbounded") ? Integer.MAX_VALUE : Integer.parseInt(words[3]), Integer.parseInt(words[4]),
            words[5], Double.parseDouble(words[6]));
        case "pools5" -> Pools.main(words[1], words[2].equals("submit"), Integer.parseInt(words[3]),
            Double.parseDouble(words[4]));
        default -> Measure.complain(USAGE);
      }
    } catch (NumberFormatException error) {
      Measure.complain(USAGE);
    }
    System.exit(0); // the pools' threads are still running
  }
}
