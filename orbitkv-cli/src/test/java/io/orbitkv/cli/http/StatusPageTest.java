package io.orbitkv.cli.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.MissReason;
import io.orbitkv.core.manager.ManagerStatus;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;

/** The page as a real browser shows it. */
@TestInstance(Lifecycle.PER_CLASS)
class StatusPageTest {

  private Browser browser;
  private FakeManager manager;
  private StatusServer server;

  @BeforeAll
  void startBrowser(@TempDir Path profile) throws IOException {
    Path program = Browser.installed().orElseThrow(() -> new AssertionError(
        "no Chromium in $PATH, which this test looks at the page with; install it: apt-get install chromium"));
    browser = new Browser(program, profile);
  }

  @AfterAll
  void endBrowser() {
    if (browser != null) {
      browser.close();
    }
  }

  @BeforeEach
  void openPage() {
    manager = new FakeManager();
    server = StatusServer.open(manager, HttpSettings.loopback(0));
    browser.look(1280, 900, false);
    browser.open(server.uri().resolve("/status"));
    browser.await("document.getElementById('state').textContent === 'ready'");
  }

  @AfterEach
  void closePage() {
    browser.open(URI.create("about:blank"));
    server.close();
  }

  @Test
  void numbers_areTheManagers() {
    assertThat(browser.text("hit-rate")).isEqualTo("75.0 %");
    assertThat(browser.text("hit-detail")).isEqualTo("750 of 1,000 blocks since the start");
    assertThat(browser.text("dram-used")).isEqualTo("50.0 %");
    assertThat(browser.text("dram-detail")).isEqualTo("512 MiB of 1 GiB, 400 blocks");
    assertThat(browser.text("ssd-used")).isEqualTo("25.0 %");
    assertThat(browser.text("ssd-health")).isEqualTo("healthy");
    assertThat(browser.text("instances")).isEqualTo("3");
    assertThat(browser.text("instances-detail")).isEqualTo("5 of 8 ranks registered");
    assertThat(browser.text("leased")).isEqualTo("6 MiB");
    assertThat(browser.text("leased-detail")).isEqualTo("5 leases");
    assertThat(browser.text("quarantined")).isEqualTo("3 MiB");
    assertThat(browser.text("engines")).contains("engine-a", "registering", "1 of 4");
    assertThat(browser.text("quarantine")).contains("4711", "process 4711 to be gone");
    assertThat(browser.text("counters")).contains("fault ssd_read_corrupt", "123,456", "4.2 µs");
    assertThat(browser.text("identity")).contains("orbitkv 1.2.3", "fffffffffffffffe");
    assertThat(browser.complaints()).isEmpty();
  }

  @Test
  void charts_showWhatBecameOfTheBlocks() {
    manager.become(with(FakeManager.stats(2_000, 1_100, 150,
        Map.of(MissReason.NOT_STORED, 700L, MissReason.NO_MEMORY, 40L, MissReason.FAILED_READ, 10L), "healthy")));

    browser.await("document.getElementById('hits-legend').textContent.includes('hit in DRAM: 50.0 %')");
    assertThat(browser.value("document.getElementById('hits-legend').children.length").intValue())
        .as("hits in two tiers, and every reason of a miss").isEqualTo(2 + MissReason.values().length - 1);
    assertThat(browser.text("hits-legend")).contains("missed: not stored: 50.0 %", "missed: over budget: 0.0 %");
    assertThat(browser.value("document.querySelector('#hits-chart path.s0').getAttribute('d')").stringValue())
        .as("half of the chart's 150 units").contains("150.0H").contains("V75.0H");
    assertThat(browser.value("document.querySelector('#hits-chart path.s5').getAttribute('d')").stringValue())
        .as("the other half").contains("75.0H").contains("V0.0H");
    assertThat(browser.value("[...document.querySelectorAll('svg')].map(svg => svg.getAttribute('aria-label')).join()")
        .stringValue()).contains("hit in DRAM: 50.0 %", "DRAM: 50.0 %", "leases: 5", "quarantined: 3 MiB");
    assertThat(browser.complaints()).isEmpty();
  }

  @Test
  void degraded_isSaidWithTheReason() {
    ManagerStatus well = FakeManager.HEALTHY;
    manager.become(new ManagerStatus(well.incarnation(), well.software(), well.startedAtEpochMillis(), true,
        List.of("SSD is read-only: <b>no space</b> left"), false, well.cache(), well.instances(), well.quarantine(),
        0, 0));

    browser.await("document.getElementById('state').textContent === 'degraded'");
    assertThat(browser.text("notice")).as("and nothing in it becomes markup")
        .isEqualTo("Degraded: SSD is read-only: <b>no space</b> left");
    assertThat(browser.complaints()).isEmpty();
  }

  @Test
  void restart_beginsTheChartsAnew() {
    ManagerStatus well = FakeManager.HEALTHY;
    manager.become(new ManagerStatus(3, well.software(), well.startedAtEpochMillis(), true, List.of(), true,
        FakeManager.stats(0, 0, 0, Map.of(), "none"), List.of(), List.of(), 0, 0));

    browser.await("document.getElementById('state').textContent === 'draining'");
    assertThat(browser.text("hit-rate")).isEqualTo("–");
    assertThat(browser.text("hits-legend")).contains("hit in DRAM: none");
    assertThat(browser.text("engines")).isEqualTo("none");
    assertThat(browser.complaints()).isEmpty();
  }

  @Test
  void managerGone_isSaidAndTheFiguresAreMarkedOld() throws IOException {
    int port = server.uri().getPort();
    server.close();

    browser.await("document.getElementById('state').textContent === 'no answer'");
    assertThat(browser.text("notice")).contains("The Manager gives no answer", "it cannot be reached", "are from");
    assertThat(isStale()).isTrue();
    assertThat(browser.text("hit-rate")).isEqualTo("75.0 %");
    assertThat(browser.complaints()).as("the browser's own line on the connection, and nothing of the page's")
        .allMatch(line -> line.contains("net::ERR_"));

    server = StatusServer.open(manager, new HttpSettings(
        new InetSocketAddress("127.0.0.1", port), Optional.empty(), Optional.empty(), Optional.empty()));
    browser.await("document.getElementById('state').textContent === 'ready'");
    assertThat(isStale()).isFalse();
  }

  @Test
  void failingManager_isSaid() {
    manager.breakDown();

    browser.await("document.getElementById('notice').textContent.includes('it answered 500')");
  }

  @Test
  void narrowWindow_needsNoSidewaysScrolling() {
    browser.look(360, 740, false);

    browser.await("document.documentElement.clientWidth === 360");
    assertThat(browser.value("document.documentElement.scrollWidth").intValue()).isLessThanOrEqualTo(360);
    assertThat(browser.value("document.querySelector('#hits-chart').getBoundingClientRect().right").doubleValue())
        .isBetween(200.0, 360.0);
  }

  @Test
  void darkSystem_getsADarkPage() {
    String light = browser.value("getComputedStyle(document.body).backgroundColor").stringValue();
    browser.look(1280, 900, true);

    assertThat(browser.value("getComputedStyle(document.body).backgroundColor").stringValue()).isNotEqualTo(light);
  }

  @Test
  void policy_letsNothingElseRun() {
    browser.value("""
        const script = document.createElement('script');
        script.textContent = 'window.smuggled = true';
        document.body.append(script);""");

    assertThat(browser.value("window.smuggled === undefined").booleanValue()).isTrue();
    assertThat(browser.complaints()).anyMatch(line -> line.contains("Content Security Policy"));
  }

  private boolean isStale() {
    return browser.value("document.getElementById('figures').classList.contains('stale')").booleanValue();
  }

  private static ManagerStatus with(CacheStats stats) {
    ManagerStatus well = FakeManager.HEALTHY;
    return new ManagerStatus(well.incarnation(), well.software(), well.startedAtEpochMillis(), true, List.of(), false,
        stats, well.instances(), well.quarantine(), well.coreEventP99Nanos(), well.coreEvents());
  }
}
