package io.orbitkv.cli.replay;

import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.Session;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * The part of a replay that runs in a process of its own. It says "ready" when it is registered with the Manager, and
 * what it does in {@link TallyLines}; it ends when its input does.
 *
 * <p>A rank does what it is told, a line each, and answers with "done", or with "not granted" if the lease has ended:
 *
 * <pre>
 * restore REQUEST LEASE
 * save REQUEST FIRST END
 * </pre>
 *
 * <p>An engine waits for "go", serves its share of the prompts and says "done".
 */
public final class Worker {

  static final String READY = "ready";
  static final String GO = "go";
  static final String DONE = "done";
  static final String NOT_GRANTED = "not granted";
  static final String FAILED = "failed ";
  static final String RESTORE = "restore";
  static final String SAVE = "save";

  private final ReplayPlan plan;
  private final Path socket;
  private final Device device;
  private final BufferedReader in;
  private final PrintWriter out;
  private final Consumer<String> notes;

  /**
   * @param plan the same as the parent's
   * @param socket the Manager's
   * @param device copies; stays the caller's
   * @param in what the parent says
   * @param out what the parent reads
   * @param notes receives a line for what a person should know at once
   */
  public Worker(
      ReplayPlan plan, Path socket, Device device, BufferedReader in, PrintWriter out, Consumer<String> notes) {
    this.plan = plan;
    this.socket = socket;
    this.device = device;
    this.in = in;
    this.out = out;
    this.notes = notes;
  }

  /**
   * Runs a rank of the engine whose scheduler is the parent.
   *
   * @param incarnation of the engine
   * @param rank which one
   * @throws IOException if the parent is gone
   */
  public void runRank(long incarnation, int rank) throws IOException {
    try (ManagerClient client = ManagerClient.open(socket);
        Session session = client.attach(plan.session(ProcessRanks.INSTANCE), new Membership(incarnation, rank));
        RankTransfers transfers = new RankTransfers(plan, rank, device, new TallyLines(out))) {
      say(READY);
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        try {
          say(obey(line.split(" "), session, transfers) ? DONE : NOT_GRANTED);
        } catch (OrbitKvException e) {
          say(FAILED + e.getMessage());
        }
      }
    }
  }

  private boolean obey(String[] words, Session session, RankTransfers transfers) {
    int request = Integer.parseInt(words[1]);
    PrefixChain prompt = plan.workload().prompts().get(request);
    return switch (words[0]) {
      case RESTORE -> {
        long lease = Long.parseLong(words[2]);
        yield transfers.restore(() -> session.restore(lease, transfers.rank()), request, prompt);
      }
      case SAVE -> {
        transfers.computeAndSave(session, prompt, Integer.parseInt(words[2]), Integer.parseInt(words[3]));
        yield true;
      }
      default -> throw new UnavailableException("a worker was told '" + words[0] + "', which is no word of its protocol");
    };
  }

  /**
   * Runs an engine of its own that serves every n-th prompt.
   *
   * @param number which of the engines, from 0
   * @param engines how many there are
   * @throws IOException if the parent is gone
   * @throws InterruptedException if the thread was interrupted
   */
  public void runEngine(int number, int engines) throws IOException, InterruptedException {
    Tally tally = new TallyLines(out);
    try (ManagerClient client = ManagerClient.open(socket);
        Session session = client.attach(plan.session("replay-" + number));
        EngineRanks ranks = LocalRanks.all(plan, device, tally)) {
      say(READY);
      if (!GO.equals(in.readLine())) {
        return;
      }
      Engine engine = new Engine(plan, ranks, tally, notes);
      for (int request = number; request < plan.workload().prompts().size(); request += engines) {
        engine.serve(session, request);
      }
      say(DONE);
    } catch (OrbitKvException e) {
      say(FAILED + e.getMessage());
    }
  }

  private void say(String line) {
    out.println(line);
    out.flush();
  }
}
