"""Jobs with a topology and what is inferred of them."""

from prism.layout.answer.posterior import answers
from prism.layout.search.problem import problem_of
from prism.model import Job
from prism.topology import Endpoint, Topology
from tests.prism.evidence.made import Wire, addresses, data_parallel, pipelined

__all__ = ["addresses", "asked", "data_parallel", "job", "pipelined", "tensor_and_data", "topology"]


def topology(endpoints, per_host):
    return Topology({e: Endpoint(f"server{i // per_host}", i % per_host, "leaf0") for i, e in enumerate(endpoints)}, ())


def job(wire):
    flows = wire.flows()
    return Job("A", tuple(sorted(wire.endpoints)), (), *flows.window)


def asked(wire, per_host=1):
    found = problem_of(wire.flows(), wire.endpoints, topology(wire.endpoints, per_host))
    return found, answers(found)


def tensor_and_data(hosts=4, per_host=4, steps=8, rail_ms=0.05):
    """Each GPU of a host reduces gradients on a rail of its own, as tensor-parallel twins do: `rail_ms` one after another."""
    wire = Wire(addresses(hosts, per_host))
    later = [rail * rail_ms for rail in range(per_host)] if isinstance(rail_ms, int | float) else rail_ms
    for step in range(steps):
        for rail in range(per_host):
            at = step * 200 + 120 + later[rail] + float(wire.rng.normal(0, 0.05))
            wire.ring([h * per_host + rail for h in range(hosts)], at, 4_000_000)
    return wire
