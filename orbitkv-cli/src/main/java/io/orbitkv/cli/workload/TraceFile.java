package io.orbitkv.cli.workload;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Reads a request trace: one JSON object a line, of which {@code hash_ids} counts, the ids of the prompt's blocks, as
 * in the traces published with Mooncake. Arrival times and token counts are ignored.
 */
public final class TraceFile {

  private final JsonMapper json = new JsonMapper();
  private final Path file;

  /**
   * @param file the trace
   */
  public TraceFile(Path file) {
    this.file = file;
  }

  /**
   * Reads the trace from its first request on.
   *
   * @param limit how many requests at most
   * @return its prompts
   * @throws RefusedException if the file cannot be read, holds no request, or a line is not a request; the message has
   *     the line's number
   */
  public Workload read(int limit) {
    if (!Files.isRegularFile(file)) {
      throw new RefusedException("trace '" + file + "' is not a file");
    }
    List<PrefixChain> prompts = new ArrayList<>();
    try (BufferedReader lines = Files.newBufferedReader(file)) {
      int number = 0;
      for (String line = lines.readLine(); line != null && prompts.size() < limit; line = lines.readLine()) {
        number++;
        if (!line.isBlank()) {
          prompts.add(Workload.chain(blockIds(line, number)));
        }
      }
    } catch (IOException e) {
      throw new RefusedException("trace '" + file + "' cannot be read as UTF-8 text: " + e.getMessage(), e);
    }
    if (prompts.isEmpty()) {
      throw new RefusedException("trace '" + file + "' holds no request; expected one JSON object a line");
    }
    return new Workload(file.getFileName().toString(), prompts);
  }

  private int[] blockIds(String line, int number) {
    JsonNode request;
    try {
      request = json.readTree(line);
    } catch (JacksonException e) {
      throw refused(number, "not JSON: " + e.getOriginalMessage());
    }
    JsonNode ids = request.get("hash_ids");
    if (ids == null || !ids.isArray()) {
      throw refused(number, "expected an object with an array 'hash_ids'");
    }
    int[] blockIds = new int[ids.size()];
    for (int i = 0; i < blockIds.length; i++) {
      JsonNode id = ids.get(i);
      if (!id.isIntegralNumber() || !id.canConvertToInt() || id.intValue() < 0) {
        throw refused(number, "hash_ids[" + i + "] is " + id + ", expected an integer from 0 to " + Integer.MAX_VALUE);
      }
      blockIds[i] = id.intValue();
    }
    return blockIds;
  }

  private RefusedException refused(int line, String why) {
    return new RefusedException("trace '" + file + "' line " + line + ": " + why);
  }
}
