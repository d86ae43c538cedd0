package io.orbitkv.cli.http;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.manager.Operated;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * Shows a Manager over HTTP, and lets its operator act on it.
 *
 * <p>Connections are bounded, and with them the threads, of which each request under way has one; so is the time and
 * the size of a request. Thread-safe.
 */
public final class StatusServer implements AutoCloseable {

  private static final Logger LOG = System.getLogger(StatusServer.class.getName());

  /** The file in a Manager's runtime folder that holds the address, as one line. */
  public static final String ADDRESS_FILE = "manager.http";

  /** One thread each, so that those who say nothing keep nobody out; few ever are in use. */
  private static final int MAX_CONNECTIONS = 64;

  /**
   * Bounds that the JDK's server takes from the process alone, when its first one is made. What a person sets on the
   * command line stays. One byte to drain is enough to see that a request has no body; with none, every connection
   * would end after one request.
   */
  private static final Map<String, String> BOUNDS = Map.of(
      "jdk.httpserver.maxConnections", Integer.toString(MAX_CONNECTIONS),
      "sun.net.httpserver.maxReqHeaders", "64",
      "sun.net.httpserver.maxReqHeaderSize", "16384",
      "sun.net.httpserver.maxReqTime", "5",
      "sun.net.httpserver.maxRspTime", "60",
      "sun.net.httpserver.drainAmount", "1",
      "sun.net.httpserver.nodelay", "true");

  private final HttpServer server;
  private final ExecutorService requests;
  private final URI uri;
  private final AtomicReference<Path> announced = new AtomicReference<>();

  private StatusServer(HttpServer server, ExecutorService requests, URI uri) {
    this.server = server;
    this.requests = requests;
    this.uri = uri;
  }

  /**
   * Starts to serve.
   *
   * @param manager what is shown and operated
   * @param settings where, and for whom
   * @return the server, owned by the caller
   * @throws io.orbitkv.api.RefusedException if a file of the settings cannot be used
   * @throws UnavailableException if the address cannot be listened on
   */
  public static StatusServer open(Operated manager, HttpSettings settings) {
    Optional<Token> token = settings.tokenFile().map(Token::read);
    Optional<SSLContext> tls =
        settings.keyStore().map(file -> TlsIdentity.read(file, settings.keyStorePasswordFile()));
    BOUNDS.forEach((name, value) -> {
      if (System.getProperty(name) == null) {
        System.setProperty(name, value);
      }
    });
    HttpServer server = listen(settings.address(), tls);
    server.createContext("/", new Site(manager, settings, token, System::currentTimeMillis));
    ThreadPoolExecutor requests = new ThreadPoolExecutor(MAX_CONNECTIONS, MAX_CONNECTIONS, 30, TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(), Thread.ofPlatform().daemon().name("orbitkv-http-", 0).factory());
    requests.allowCoreThreadTimeOut(true);
    server.setExecutor(requests);
    server.start();
    return new StatusServer(server, requests, uri(tls.isPresent() ? "https" : "http", server.getAddress()));
  }

  /** Returns where it serves, as {@code http://127.0.0.1:9400}. */
  public URI uri() {
    return uri;
  }

  /**
   * Writes the address into a Manager's runtime folder, where {@code orbitkv status} finds it until this is closed.
   *
   * @param runtimeFolder a folder that exists
   * @throws UnavailableException if it cannot be written
   */
  public void announceIn(Path runtimeFolder) {
    Path file = runtimeFolder.resolve(ADDRESS_FILE);
    try {
      Path fresh = Files.createTempFile(runtimeFolder, ADDRESS_FILE, ".new",
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      Files.writeString(fresh, uri + "\n", StandardOpenOption.WRITE);
      Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
      announced.set(file);
    } catch (IOException e) {
      throw new UnavailableException("the address of HTTP cannot be written to '" + file + "': " + e.getMessage(), e);
    }
  }

  /** Ends at once: requests under way are cut, and the file with the address is removed. Idempotent. */
  @Override
  public void close() {
    Path file = announced.getAndSet(null);
    if (file != null) {
      try {
        Files.deleteIfExists(file);
      } catch (IOException e) {
        LOG.log(Level.WARNING, "the address of HTTP could not be removed from '" + file + "': " + e.getMessage());
      }
    }
    server.stop(0);
    requests.shutdownNow();
  }

  private static HttpServer listen(InetSocketAddress address, Optional<SSLContext> tls) {
    try {
      if (tls.isEmpty()) {
        return HttpServer.create(address, MAX_CONNECTIONS);
      }
      HttpsServer server = HttpsServer.create(address, MAX_CONNECTIONS);
      server.setHttpsConfigurator(new HttpsConfigurator(tls.get()) {
        @Override
        public void configure(HttpsParameters parameters) {
          SSLParameters modern = getSSLContext().getDefaultSSLParameters();
          modern.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
          parameters.setSSLParameters(modern);
        }
      });
      return server;
    } catch (IOException e) {
      throw new UnavailableException("HTTP cannot listen on " + address.getHostString() + ":" + address.getPort() + ": "
          + e.getMessage() + "; choose another address with --http", e);
    }
  }

  private static URI uri(String scheme, InetSocketAddress bound) {
    InetAddress address = bound.getAddress();
    // An address that means all of them is none to connect to.
    String host = address.isAnyLocalAddress() ? "localhost" : address.getHostAddress();
    return URI.create(scheme + "://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + bound.getPort());
  }
}
