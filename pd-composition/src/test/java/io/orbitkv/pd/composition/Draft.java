package io.orbitkv.pd.composition;

import io.orbitkv.pd.composition.file.CompositionReader;
import io.orbitkv.pd.composition.file.Setting;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A file as an operator writes it, of which a test changes one thing. Its lines are all 1. */
public final class Draft {

  private final Map<String, Object> content = new LinkedHashMap<>();

  private Draft() {}

  /** Two prefill workers and a decode worker of vLLM on one host. */
  public static Draft vllm() {
    return new Draft()
        .set("engine", "vllm").set("release", "0.31.0")
        .set("model.path", "/models/qwen3-8b").set("model.served_name", "qwen3")
        .set("transport.name", "nixl").set("transport.lease_s", 60)
        .set("cache.block_tokens", 16)
        .set("prefill[0].name", "p0").set("prefill[0].host", "10.0.0.1").set("prefill[0].port", 8100)
        .set("prefill[0].transfer_port", 5600).set("prefill[0].manager", "/run/orbitkv/manager.sock")
        .set("prefill[1].name", "p1").set("prefill[1].host", "10.0.0.1").set("prefill[1].port", 8101)
        .set("prefill[1].transfer_port", 5601).set("prefill[1].manager", "/run/orbitkv/manager.sock")
        .set("decode[0].name", "d0").set("decode[0].host", "10.0.0.1").set("decode[0].port", 8200)
        .set("decode[0].transfer_port", 5602).set("decode[0].manager", "/run/orbitkv/manager.sock")
        .set("router.host", "10.0.0.1").set("router.port", 8000);
  }

  /** A prefill worker and a decode worker of SGLang on one host. */
  public static Draft sglang() {
    return new Draft()
        .set("engine", "sglang").set("release", "0.5.22")
        .set("model.path", "/models/qwen3-8b").set("model.served_name", "qwen3")
        .set("transport.name", "mooncake").set("transport.bootstrap_timeout_s", 120)
        .set("cache.block_tokens", 64)
        .set("prefill[0].name", "p0").set("prefill[0].host", "10.0.0.1").set("prefill[0].port", 30000)
        .set("prefill[0].transfer_port", 8998).set("prefill[0].manager", "/run/orbitkv/manager.sock")
        .set("decode[0].name", "d0").set("decode[0].host", "10.0.0.1").set("decode[0].port", 30001)
        .set("decode[0].manager", "/run/orbitkv/manager.sock")
        .set("router.host", "10.0.0.1").set("router.port", 8000);
  }

  /** Sets a value by its path; nothing takes it out. */
  public Draft set(String path, Object value) {
    String[] names = path.split("\\.");
    Map<String, Object> table = content;
    for (int i = 0; i < names.length - 1; i++) {
      table = inner(table, names[i]);
    }
    String last = names[names.length - 1];
    if (value == null) {
      table.remove(last);
    } else {
      table.put(last, value);
    }
    return this;
  }

  /** Returns what it means. */
  public Composition composition() {
    return CompositionReader.read("pd.json", (Setting.Table) setting(content));
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> inner(Map<String, Object> table, String name) {
    if (!name.endsWith("]")) {
      return (Map<String, Object>) table.computeIfAbsent(name, _ -> new LinkedHashMap<String, Object>());
    }
    int open = name.indexOf('[');
    int index = Integer.parseInt(name.substring(open + 1, name.length() - 1));
    List<Object> row = (List<Object>) table.computeIfAbsent(name.substring(0, open), _ -> new ArrayList<>());
    while (row.size() <= index) {
      row.add(new LinkedHashMap<String, Object>());
    }
    return (Map<String, Object>) row.get(index);
  }

  private static Setting setting(Object value) {
    return switch (value) {
      case Map<?, ?> map -> {
        Map<String, Setting> values = new LinkedHashMap<>();
        map.forEach((name, inner) -> values.put((String) name, setting(inner)));
        yield new Setting.Table(1, values);
      }
      case List<?> list -> new Setting.Row(1, list.stream().map(Draft::setting).toList());
      case String text -> new Setting.Text(1, text);
      case Integer number -> new Setting.Whole(1, number);
      case Boolean truth -> new Setting.Switch(1, truth);
      default -> new Setting.Other(1, value.toString());
    };
  }
}
