"""`prism stacks`: find where the ranks of a hung job are, which rank blocks the others, and what to evict."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from collectors.cli.errors import report_errors

MAX_CLUSTERS = 8  # clusters in the text
RANKS = 12


def stacks(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="Dumps of all ranks: py-spy (text, JSON), faulthandler, Flight Recorder.")
    ],
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="Report of prism replay --json: its groups are joined with the outliers.")
    ] = None,
    world: Annotated[int, typer.Option(metavar="N", min=0, help="Number of ranks, so that absent ones are seen.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Cluster the stacks of all ranks, find the outliers and name the ranks, hosts or group to evict.

    A rank is read from the name of its file (rank3.txt, stack_3, node1/rank3). Exit status: 0, or 2 on bad input.
    """
    with report_errors("prism"):
        from json import dumps

        document = _document(folder, report, world)
        if json:
            sys.stdout.write(dumps(document, indent=1) + "\n")
            return
        for line in _text(document):
            typer.echo(line)


def _document(folder: str, report: str | None, world: int) -> dict[str, Any]:
    from prism.stacks.eviction import RankGroup, evict
    from prism.stacks.stack_clusters import clusters, outliers
    from prism.stacks.stack_folders import groups_of, read

    own = read(folder)
    found = clusters(own.dumps)
    out = outliers(found, own.recordings, world)
    groups, hosts = groups_of(report) if report else ([], {})
    groups += [
        RankGroup(one.description or "group", one.ranks) for record in own.recordings for one in record.groups if one.ranks
    ]
    ranks = {rank for one in found for rank in one.ranks} | {one.rank for one in own.recordings if one.rank is not None}
    choice = evict(out, list(dict.fromkeys(groups)), {**hosts, **own.hosts}, max(world, len(ranks)))
    return {
        "schema": "prism-stacks/1",
        "dumps": len(own.dumps),
        "recordings": len(own.recordings),
        "skipped": list(own.skipped),
        "clusters": [{"ranks": list(one.ranks), "waits": one.waits, "in": one.title} for one in found],
        "outliers": {"ranks": list(out.ranks), "rule": out.rule, "why": out.why, "confidence": out.confidence},
        "evict": {
            "ranks": list(choice.ranks),
            "hosts": list(choice.hosts),
            "group": {"kind": choice.group.kind, "ranks": list(choice.group.ranks)} if choice.group else None,
            "why": choice.why,
        },
    }


def _text(document: dict[str, Any]) -> list[str]:
    out = [
        f"{document['dumps']} stack dumps, {document['recordings']} Flight Recorder dumps, "
        f"{len(document['skipped'])} other files"
    ]
    for one in document["clusters"][:MAX_CLUSTERS]:
        state = "wait in" if one["waits"] else "are in"
        out.append(f"  {len(one['ranks'])} ranks {state} {one['in']}: {_listed(one['ranks'])}")
    if len(document["clusters"]) > MAX_CLUSTERS:
        out.append(f"  and {len(document['clusters']) - MAX_CLUSTERS} smaller clusters")
    outliers, evict = document["outliers"], document["evict"]
    if not outliers["ranks"]:
        return [*out, f"No outlier: {outliers['why']}."]
    out.append(f"Outliers ({outliers['confidence']:.0%}): ranks {_listed(outliers['ranks'])}: {outliers['why']}.")
    hosts = f" on {', '.join(evict['hosts'][:RANKS])}" if evict["hosts"] else ""
    group = evict["group"]
    held = f"; they share {group['kind']} group {_listed(group['ranks'])}" if group else ""
    out.append(f"Evict: ranks {_listed(evict['ranks'])}{hosts}{held}.")
    return out


def _listed(ranks: list[int]) -> str:
    more = f" and {len(ranks) - RANKS} more" if len(ranks) > RANKS else ""
    return ", ".join(map(str, ranks[:RANKS])) + more


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(stacks)
