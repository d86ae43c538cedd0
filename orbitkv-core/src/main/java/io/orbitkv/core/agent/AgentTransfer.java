package io.orbitkv.core.agent;

/**
 * A load or a save that an {@link AgentClient} has its agent copy. Its pages are not the engine's until it is reported.
 *
 * @param number tells transfers of one client apart
 * @param isLoad whether it writes to the pages
 */
public record AgentTransfer(long number, boolean isLoad) {

  /**
   * The end of a transfer: its pages are the engine's again.
   *
   * @param transfer which one
   * @param blocks of a load, how many leading pages hold their blocks; of a save, how many this rank committed
   */
  public record Report(AgentTransfer transfer, int blocks) {}
}
