package io.orbitkv.backend.gpu.cuda.driver;

import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * Loads the native library, once for a class loader. Whether it is loaded is the virtual machine's state, asked for by
 * a call, so there is none here.
 */
final class CudaLibrary {

  /** The folder to unpack into, in place of {@code java.io.tmpdir}. */
  static final String FOLDER_PROPERTY = "orbitkv.native.dir";

  private static final String NAME = "orbitkv_cuda";

  private CudaLibrary() {}

  /**
   * Loads the library unless it is.
   *
   * @throws UnavailableException if it cannot be loaded; the message names the cause and the knob
   */
  static void load() {
    // Two threads must not both find it missing: a second copy would stay mapped for ever.
    synchronized (CudaLibrary.class) {
      if (version() == 0) {
        find();
      }
    }
    int version = version();
    if (version != Cuda.VERSION) {
      throw new UnavailableException(
          System.mapLibraryName(NAME) + " found on java.library.path has version " + version + ", expected "
              + Cuda.VERSION + "; remove it, the jar has the right one");
    }
  }

  /** Returns the version of the library that is loaded, or 0 if none is. */
  private static int version() {
    try {
      return Cuda.version();
    } catch (UnsatisfiedLinkError e) {
      return 0;
    }
  }

  // Loading native code is what this class is for. It is denied or allowed by the command line.
  @SuppressWarnings("restricted")
  private static void find() {
    try {
      try {
        System.loadLibrary(NAME);
      } catch (UnsatisfiedLinkError e) {
        unpack();
      }
    } catch (IllegalCallerException e) {
      Module module = CudaLibrary.class.getModule();
      throw new UnavailableException(
          "native access is denied; start java with --enable-native-access="
              + (module.isNamed() ? module.getName() : "ALL-UNNAMED"),
          e);
    }
  }

  @SuppressWarnings("restricted") // as above
  private static void unpack() {
    String resource = "/META-INF/native/" + platform() + "/" + System.mapLibraryName(NAME);
    Path parent = Path.of(System.getProperty(FOLDER_PROPERTY, System.getProperty("java.io.tmpdir")));
    try (InputStream library = CudaLibrary.class.getResourceAsStream(resource)) {
      if (library == null) {
        throw new UnavailableException(
            "device cuda needs native code, and this jar has none for " + platform()
                + "; build it there");
      }
      // A folder that nobody else can write to: what is loaded is what was unpacked.
      Path folder =
          Files.createTempDirectory(
              parent, "orbitkv-", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      Path file = folder.resolve(System.mapLibraryName(NAME));
      try {
        Files.copy(library, file);
        System.load(file.toString());
      } finally {
        // The mapping outlives the name.
        Files.deleteIfExists(file);
        Files.delete(folder);
      }
    } catch (UnsatisfiedLinkError e) {
      throw new UnavailableException(refusal(parent, e.getMessage()), e);
    } catch (IOException e) {
      throw new UnavailableException(
          "cannot unpack the native library to " + parent + " (" + e + "); choose a folder with -D" + FOLDER_PROPERTY,
          e);
    }
  }

  /** Explains what the dynamic loader says. */
  static String refusal(Path parent, String message) {
    String refusal = "cannot load the native library from " + parent + " (" + message + ")";
    if (message.contains("failed to map segment")) {
      return refusal + ": the folder is mounted noexec; choose another with -D" + FOLDER_PROPERTY;
    }
    return refusal;
  }

  private static String platform() {
    String architecture = System.getProperty("os.arch");
    // Java and uname -m differ in this one.
    return "linux-" + (architecture.equals("amd64") ? "x86_64" : architecture);
  }
}
