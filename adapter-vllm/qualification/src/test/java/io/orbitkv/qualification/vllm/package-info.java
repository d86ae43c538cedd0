/**
 * Owns: running the released vLLM with the wheel of this build, and holding {@code docs/qualification-vllm.md} to what
 * comes of it. Must not touch: anything but files and processes.
 */
package io.orbitkv.qualification.vllm;
