"""What networks carry is tested with all decoders in test_fastpath; here, that a row keeps nothing of the one before it."""

import numpy as np

from collectors.aggregation.batch_decoder import Decoder
from collectors.packets.frame_batch import Batch
from tests.collectors.builders import ibframes
from tests.collectors.builders.frames import SAMPLES
from tests.collectors.builders.uetframes import PACKETS, framed

FRAMES = [*SAMPLES, *((1, framed(p)) for p in PACKETS.values()), *ibframes.SAMPLES.values()]


def rows(decoder: Decoder, order: list[int]) -> dict[int, tuple[object, ...]]:
    frames = [FRAMES[k] for k in order]
    batch = Batch.of([(k, frame, len(frame)) for k, (_, frame) in zip(order, frames, strict=True)])
    kinds = np.array([kind for kind, _ in frames], np.int64)
    found = decoder.unpack(Batch(batch.data, kinds, batch.time_ns, batch.offset, batch.captured, batch.wire))
    names = [name for name in found.dtype.names or () if name not in ("src", "dst", "kind", "flow")]
    return {int(row["time_ns"]): tuple(row[name] for name in names) for row in found.copy()}


def test_rows_are_written_whole() -> None:
    decoder, order = Decoder(), list(range(len(FRAMES)))
    forth, back = rows(decoder, order), rows(decoder, order[::-1])
    common = forth.keys() & back.keys()  # which frames a mirror cut depends on those before
    assert len(common) > len(FRAMES) // 2
    assert [k for k in common if forth[k] != back[k]] == []
