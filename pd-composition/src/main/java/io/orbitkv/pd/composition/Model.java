package io.orbitkv.pd.composition;

import java.util.Optional;

/**
 * What the workers serve.
 *
 * @param path folder or name, as the engine takes it
 * @param servedName by what name clients ask for it
 * @param digest what the operator says the files are, 64 hexadecimal digits; without it each worker's agent reads them
 */
public record Model(String path, String servedName, Optional<String> digest) {}
