/**
 * Owns: running the released SGLang with the wheel of this build, and holding {@code docs/qualification-sglang.md} to
 * what comes of it. Must not touch: anything but files and processes.
 */
package io.orbitkv.qualification.sglang;
