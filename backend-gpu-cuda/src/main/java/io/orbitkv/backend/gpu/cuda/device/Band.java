package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.backend.gpu.cuda.driver.ExportedHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * Neighbouring layers that arrive together.
 *
 * @param runs what is copied of each block
 */
record Band(List<Run> runs) {

  /** A layer's piece of every page. */
  private record Piece(long address, ExportedHandle allocation, long pageStride, int bytes, int shardAt) {

    boolean continues(Piece last) {
      return allocation.equals(last.allocation) && pageStride == last.pageStride && address == last.address + last.bytes
          && last.bytes <= Integer.MAX_VALUE - bytes;
    }

    Piece with(Piece next) {
      return new Piece(address, allocation, pageStride, bytes + next.bytes, shardAt);
    }
  }

  /** Returns the bands of a pool, in the order of its layers. */
  static List<Band> of(PoolLayout layout, PoolAddresses addresses, int count, int batchedFrom) {
    int layers = layout.layers();
    int bands = Math.min(count, layers);
    List<Band> made = new ArrayList<>();
    List<Piece> pieces = new ArrayList<>();
    int shardAt = 0;
    int layer = 0;
    for (PageLayout group : layout.groups()) {
      for (int i = 0; i < group.layers(); i++, layer++) {
        long first = group.offset(i, 0);
        long end = group.offset(i, group.pages() - 1) + group.pageBytes();
        PoolAddresses.Range range = addresses.range(first, end);
        pieces.add(new Piece(
            range.address(first), range.allocation(), group.pageStride(), group.pageBytes(), shardAt));
        shardAt += group.pageBytes();
        if (bandOf(layer, layers, bands) != bandOf(layer + 1, layers, bands)) {
          made.add(new Band(runs(merged(pieces), batchedFrom)));
          pieces.clear();
        }
      }
    }
    return List.copyOf(made);
  }

  /** Returns which of so many bands a layer is in. */
  static int bandOf(int layer, int layers, int bands) {
    return (int) ((long) layer * bands / layers);
  }

  private static List<Piece> merged(List<Piece> pieces) {
    List<Piece> merged = new ArrayList<>();
    for (Piece piece : pieces) {
      if (!merged.isEmpty() && piece.continues(merged.getLast())) {
        merged.add(merged.removeLast().with(piece));
      } else {
        merged.add(piece);
      }
    }
    return merged;
  }

  /** Keys and values of a layer may have a place each, and then take turns: what is equally far apart is every other. */
  private static List<Run> runs(List<Piece> pieces, int batchedFrom) {
    List<Run> runs = new ArrayList<>();
    for (int first = 0; first < pieces.size();) {
      int inTurn = 1;
      int rows = rows(pieces, first, 1, batchedFrom);
      int rowsOfBoth = Math.min(rows(pieces, first, 2, batchedFrom), rows(pieces, first + 1, 2, batchedFrom));
      if (rowsOfBoth > rows) {
        inTurn = 2;
        rows = rowsOfBoth;
      }
      for (int i = first; i < first + inTurn; i++) {
        runs.add(run(pieces, i, inTurn, rows));
      }
      first += inTurn * rows;
    }
    return List.copyOf(runs);
  }

  private static Run run(List<Piece> pieces, int first, int step, int rows) {
    Piece piece = pieces.get(first);
    Piece second = rows > 1 ? pieces.get(first + step) : piece;
    return new Run(piece.address, piece.pageStride, second.address - piece.address, second.shardAt - piece.shardAt,
        piece.bytes, rows, piece.shardAt);
  }

  /**
   * Returns how many pieces, the first and each that is so many further, are alike and equally far apart. Rows of two
   * allocations are no copy: the driver refuses them with an invalid value.
   */
  private static int rows(List<Piece> pieces, int first, int step, int batchedFrom) {
    if (first + step >= pieces.size() || pieces.get(first).bytes >= batchedFrom) {
      return 1;
    }
    Piece piece = pieces.get(first);
    long pitch = pieces.get(first + step).address - piece.address;
    int shardPitch = pieces.get(first + step).shardAt - piece.shardAt;
    int rows = 1;
    while (pitch > piece.bytes && first + rows * step < pieces.size()) {
      Piece next = pieces.get(first + rows * step);
      if (!next.allocation.equals(piece.allocation) || next.bytes != piece.bytes || next.pageStride != piece.pageStride
          || next.address != piece.address + rows * pitch || next.shardAt != piece.shardAt + rows * shardPitch) {
        break;
      }
      rows++;
    }
    return rows;
  }
}
