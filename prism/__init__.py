"""Find LLM training jobs, their parallelism and their faults in network flows.

Public functions and types; each is imported when it is first used, so `import prism` loads nothing else:

* `read(paths)`: captures, exports and dumps to flow records (`Recording`)
* `diagnose(flows, topology=…)`: flow records to jobs, layouts, steps and findings (`Diagnosis`)
* `replay(paths, topology=…)`: both at once
* `simulate(spec, seed)`: training traffic with its topology and truth (`Simulation`)

>>> import prism
>>> run = prism.simulate("ddp-rdma", seed=1)
>>> found = prism.diagnose(run, topology=run.topology)
>>> found.jobs[0].parallelism.layout.dp, len(found.findings)
(8, 0)

The life of a flow:

1. capture      a mirror port or a file yields frames with their time                     `collectors.captures`
2. decode       headers are parsed, down to TCP, UDP and RoCEv2                           `collectors.packets`
3. aggregate    packets of several switches become flow records, each counted once        `collectors.aggregation`
4. store        records are written to a dump or a store, and read again                  `collectors.writers`, `.store`
5. recognise    a window of flows becomes jobs                                            `jobs`
6. infer        hypotheses of the layout are weighed against all evidence                 `evidence`, `layout`
7. reconstruct  one timeline per job: steps and phases, per rank                          `steps`
8. diagnose     new delays in the event graph, and the candidate that explains them best  `graph`, `diagnosis`
9. report       JSON, tables, traces, pages, alerts                                       `report`, `views`, `alerts`

Read on in `model` (the words), `analysis` (the order of the stages), one folder of a stage. `recordings` does
1–3 and 5–8 for files, `live` for records that come in; `cli` is the command line; `public` has the functions above.
docs/architecture.md lists all folders; imports go down that list.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # like typing.TYPE_CHECKING; importing typing takes longer than this module

if TYPE_CHECKING:
    from collectors.columns.record import Flows
    from prism.inventory.operator_hints import Hints
    from prism.model import Finding, JobDiagnosis
    from prism.public import diagnose, read, replay, simulate
    from prism.results import Diagnosis, Recording, Simulation
    from prism.topology import Topology

_MODULES = {
    "Diagnosis": "prism.results",
    "Finding": "prism.model",
    "Flows": "collectors.columns.record",
    "Hints": "prism.inventory.operator_hints",
    "JobDiagnosis": "prism.model",
    "Recording": "prism.results",
    "Simulation": "prism.results",
    "Topology": "prism.topology",
    "diagnose": "prism.public",
    "read": "prism.public",
    "replay": "prism.public",
    "simulate": "prism.public",
}

__all__ = [
    "Diagnosis",
    "Finding",
    "Flows",
    "Hints",
    "JobDiagnosis",
    "Recording",
    "Simulation",
    "Topology",
    "diagnose",
    "read",
    "replay",
    "simulate",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used. Raises AttributeError for other names."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names beside those that are imported."""
    return sorted({*globals(), *__all__})
