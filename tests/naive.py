"""Slow, obvious twins of the fast code: one packet at a time, in plain Python."""

from collections import defaultdict
from itertools import pairwise

from collectors.columns.record import FIN, PSH, RST, SYN, TCP
from collectors.flows.bursts import UNIT, Pace
from collectors.flows.flow_state import BLOCK


def unique_packets(captures, home, horizon_ns):
    """Packets by switch, each a dict, → [(time, packet, path)] by time. `home`: switch of each src."""
    switches = list(captures)
    sightings = sorted(
        ((p["time_ns"], i, p) for i, name in enumerate(switches) for p in captures[name]), key=lambda s: (s[0], s[1])
    )
    waiting, packets = defaultdict(list), []
    for time, i, p in sightings:
        identity = tuple(v for k, v in sorted(p.items()) if k not in ("time_ns", "ecn", "dma_length"))
        for packet in waiting[identity]:
            if packet[0][0] >= time - horizon_ns and i not in [s[1] for s in packet]:
                packet.append((time, i, p))
                break
        else:
            packets.append([(time, i, p)])
            waiting[identity].append(packets[-1])
    out = []
    for packet in packets:
        packet.sort(key=lambda s: (switches[s[1]] != home.get(s[2]["src"]), s[0], s[1]))
        out.append((packet[0][0], packet[0][2], tuple(switches[s[1]] for s in packet)))
    return sorted(out, key=lambda s: s[0])


class Space:
    """Sequence numbers sent so far."""

    def __init__(self):
        self.high, self.gaps = None, set()

    def unsent(self, p):
        """New octets; None of what is a probe."""
        begin = (p["sequence"] + bool(p["tcp_flags"] & SYN)) % 2**32
        if self.high is None or p["tcp_flags"] & SYN:
            self.high, self.gaps = begin, set()
        ahead = (begin + p["octets"] - self.high + 2**30) % 2**32 - 2**30
        if ahead > p["octets"]:
            self.gaps |= {(self.high + k) % 2**32 for k in range(min(ahead - p["octets"], 10**6))}
        found = {n % 2**32 for n in range(begin, begin + p["octets"])} & self.gaps
        self.gaps -= found
        if ahead > 0:
            self.high = (self.high + ahead) % 2**32
        if ahead == 0 and p["octets"] == 1 and not found and not p["tcp_flags"] & (SYN | FIN | RST):
            return None
        return min(max(ahead, 0), p["octets"]) + len(found)


def tcp_records(packets, *, small=256, pace=None):
    """Packets [(time, packet, path)] → records as dicts, and how many only acknowledge."""
    pace = pace or Pace()
    flows, records, acknowledgments = defaultdict(list), [], 0
    for time, p, path in packets:
        key = tuple(p[k] for k in ("src", "dst", "src_port", "dst_port", "protocol"))
        flows[key].append((time, p, path))
    lanes = []
    for key, rows in flows.items():
        space, units, unpushed, was_bulk = Space(), [], None, True
        opens = True
        for time, p, path in rows:
            tcp = p["protocol"] == TCP
            new = space.unsent(p) if tcp and (p["octets"] or p["tcp_flags"] & SYN) else p["octets"]
            if new is None:
                continue
            row = {
                "key": key,
                "path": path,
                "start": time,
                "end": time,
                "octets": new,
                "size": p["octets"],
                "flags": p["tcp_flags"],
            }
            row |= {"packets": int(new > 0), "retransmits": int(new == 0)}
            mark = tcp and p["tcp_flags"] & (SYN | FIN | RST)
            if mark:
                records.append(row | {"octets": 0, "packets": 0, "messages": 0, "retransmits": 0})
            if not p["octets"]:
                acknowledgments += tcp and not mark
                continue
            bulk = p["octets"] > small or p["sequence"] == unpushed
            if bulk:
                goes_on = tcp and not p["tcp_flags"] & PSH and new > 0
                if opens or time < units[-1]["end"]:
                    units.append(row | {"spoken": not was_bulk})
                    handed = 0
                elif (handed + p["octets"] - 1) // UNIT != (handed - 1) // UNIT:
                    units.append(row | {"spoken": not was_bulk})
                else:
                    join(units[-1], row)
                handed += p["octets"]
                opens = not goes_on
            else:
                records.append(row | {"messages": row["packets"]})
            unpushed = (
                (p["sequence"] + p["octets"]) % 2**32 if tcp and p["octets"] > small and not p["tcp_flags"] & PSH else None
            )
            was_bulk = bulk
        if units:
            lanes.append(units)
    for units in lanes:
        records += bursts(units, pace)
    return records, acknowledgments


def join(record, row):
    """Add a row to a record."""
    record["end"] = max(record["end"], row["end"])
    record["start"] = min(record["start"], row["start"])
    record["flags"] |= row["flags"]
    for name in ("octets", "size", "packets", "retransmits"):
        record[name] += row[name]


def bursts(units, pace):
    """Units of one lane → records, at the lane's own pace; `units`: how many the lane has. `borrows`: a block has small units
    only, so that the pace of others counts.
    """
    blocks = [units[i : i + BLOCK] for i in range(0, len(units), BLOCK)]
    borrows = any(all(u["size"] <= pace.flight for u in block) for block in blocks)
    gaps = [None] + [b["end"] - a["end"] for a, b in pairwise(units)]
    x = [None if g is None else max(g, 0) / u["size"] for g, u in zip(gaps, units, strict=True)]
    out = []
    for i, u in enumerate(units):
        block = i // BLOCK * BLOCK
        window = range(max(block - BLOCK, 0), min(block + BLOCK, len(units)))
        known = sorted((x[k], k) for k in window if x[k] is not None)
        weights = [units[k]["size"] * (pace.doubt if units[k]["spoken"] else 1) for _, k in known]
        total, own = 0.0, 0.0
        for (value, _), weight in zip(known, weights, strict=True):
            total, own = total + weight, value
            if total >= pace.share * sum(weights):
                break
        before = units[i - 1]
        scale = max(u["size"], before["size"], pace.flight) * own
        pause = u["start"] - before["end"] if i else 0
        if not i or pause < 0 or pause > max(pace.cut * scale, pace.patience_ns):
            out.append({k: v for k, v in u.items() if k != "spoken"} | {"messages": 0, "units": len(units), "borrows": borrows})
        else:
            join(out[-1], u)
    return out
