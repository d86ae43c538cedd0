package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.NixlTransport;
import java.util.List;

/**
 * With NixlPushConnector prefill writes into decode's pages, and decode that has given up on a request
 * ({@code push_registration_timeout}) has no word that those writes have ended. With pull, decode has the handle of its
 * own read and keeps the pages until the handle is released.
 *
 * <p>{@code nixl/push_scheduler.py}, {@code nixl/base_worker.py: _try_release_xfer_handle} of vLLM 0.31.0.
 */
record PullTransport() implements Rule {

  @Override
  public String name() {
    return "pull-transport";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    return composition.transport() instanceof NixlTransport nixl && nixl.mode() != NixlTransport.Mode.PULL
        ? List.of(new Violation(name(), "transport.mode", "'" + nixl.mode().word() + "'",
            "'pull', since decode that gave up on a push cannot tell when prefill has stopped writing to its pages",
            "leave it out"))
        : List.of();
  }
}
