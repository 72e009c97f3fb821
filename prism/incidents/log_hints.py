"""Convert facts from logs to hints for the layout (`--hints`): sizes, members, library. Hints are priors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prism.incidents.node_mapping import NodeMap
from prism.logs.parsing.log_facts import Facts

SIZES = ("dp", "pp", "tp", "ep", "cp")


def hints(facts: Facts, endpoints: Sequence[str], placed: NodeMap) -> dict[str, Any]:
    """Build the hints document of one job: its endpoints and the sizes from its arguments. Inconsistent sizes are left out."""
    world = facts.sizes.get("world", 0)
    sizes = {kind: facts.sizes[kind] for kind in SIZES if kind in facts.sizes}
    product = 1
    for kind in ("dp", "pp", "tp", "cp"):
        product *= sizes.get(kind, 1)
    if world and (world % product or ("dp" in sizes and product != world)):
        sizes = {}
    site: dict[str, Any] = {}
    per_host = {len(own) for node, own in placed.of_node.items() if not node.startswith("rank ")}
    if len(per_host) == 1:
        site["gpus_per_host"] = per_host.pop()
    if facts.library:
        site["library"] = facts.library
    if facts.rings:
        site["algorithms"] = ["ring"]
    job: dict[str, Any] = {"endpoints": sorted(endpoints), **sizes}
    return {"site": site, "jobs": [job]}
