package io.orbitkv.cli.pd;

import io.orbitkv.api.RefusedException;
import io.orbitkv.pd.composition.file.Setting;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonReadFeature;
import tools.jackson.databind.json.JsonMapper;

/** JSON as values with their lines. A file may have comments, as in Java, and a comma behind the last value. */
public final class JsonSettings {

  private static final int MAX_BYTES = 1 << 20;

  private JsonSettings() {}

  /**
   * Reads a file that holds one object.
   *
   * @throws RefusedException with the line, if it cannot be read or is no such file
   */
  public static Setting.Table read(Path file) {
    try {
      if (Files.size(file) > MAX_BYTES) {
        throw new RefusedException("'" + file + "' has " + Files.size(file) + " bytes, expected at most " + MAX_BYTES);
      }
      return table(file.toString(), Files.readString(file));
    } catch (NoSuchFileException e) {
      throw new RefusedException("'" + file + "' is not there, expected a file with a composition", e);
    } catch (IOException e) {
      throw new RefusedException("'" + file + "' cannot be read: " + e, e);
    }
  }

  private static Setting.Table table(String file, String text) {
    JsonMapper ofPeople = JsonMapper.builder()
        .enable(JsonReadFeature.ALLOW_JAVA_COMMENTS, JsonReadFeature.ALLOW_TRAILING_COMMA)
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .build();
    try (JsonParser parser = ofPeople.createParser(text)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new RefusedException(file + ":1: expected one object in braces");
      }
      Setting.Table table = (Setting.Table) value(parser);
      if (parser.nextToken() != null) {
        throw new RefusedException(file + ":" + line(parser) + ": something follows the object, expected its end");
      }
      return table;
    } catch (JacksonException e) {
      int line = e.getLocation() == null ? 1 : e.getLocation().getLineNr();
      throw new RefusedException(file + ":" + line + ": no JSON: " + e.getOriginalMessage(), e);
    }
  }

  /** Returns what a program answered; nothing if it is no JSON. */
  static Optional<Setting> answer(String text) {
    try (JsonParser parser = new JsonMapper().createParser(text)) {
      return parser.nextToken() == null ? Optional.empty() : Optional.of(value(parser));
    } catch (JacksonException e) {
      return Optional.empty();
    }
  }

  private static Setting value(JsonParser parser) {
    int line = line(parser);
    return switch (parser.currentToken()) {
      case START_OBJECT -> {
        Map<String, Setting> values = new LinkedHashMap<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
          String name = parser.currentName();
          parser.nextToken();
          values.put(name, value(parser));
        }
        yield new Setting.Table(line, values);
      }
      case START_ARRAY -> {
        List<Setting> values = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          values.add(value(parser));
        }
        yield new Setting.Row(line, values);
      }
      case VALUE_STRING -> new Setting.Text(line, parser.getString());
      case VALUE_NUMBER_INT -> parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
          ? new Setting.Other(line, parser.getString())
          : new Setting.Whole(line, parser.getLongValue());
      case VALUE_TRUE, VALUE_FALSE -> new Setting.Switch(line, parser.currentToken() == JsonToken.VALUE_TRUE);
      default -> new Setting.Other(line, parser.getString());
    };
  }

  private static int line(JsonParser parser) {
    return parser.currentTokenLocation().getLineNr();
  }
}
