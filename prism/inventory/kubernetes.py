"""Read jobs from the pods of Kubernetes: `kubectl get pods -A -o json`, or `GET /api/v1/pods`.

A job is the common label of its GPU pods (Kubeflow, JobSet, LeaderWorkerSet, Volcano, Ray, Job), else their owner, else the pod
itself. Addresses come from the pod's status, and those of secondary networks (RDMA) from the annotation of Multus
(https://github.com/k8snetworkplumbingwg/multus-cni, network-status).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from prism.topology import normal_address, shown

JOB_LABELS = (
    "training.kubeflow.org/job-name",
    "pytorch-job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "leaderworkerset.sigs.k8s.io/name",
    "volcano.sh/job-name",
    "ray.io/cluster",
    "batch.kubernetes.io/job-name",
    "job-name",
)
QUEUE_LABELS = ("kueue.x-k8s.io/queue-name", "volcano.sh/queue-name", "scheduling.volcano.sh/queue-name")
USER_LABELS = ("user", "owner", "created-by")
NETWORKS = "k8s.v1.cni.cncf.io/network-status"
LONGEST = 200


def is_pods(document: Mapping[str, Any]) -> bool:
    """Check whether a document is a list of pods."""
    return isinstance(document.get("items"), list) and str(document.get("kind", "")).endswith("List")


def jobs(document: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Yield the booking fields of each job. Raises ValueError with the pod's place."""
    parts: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for i, pod in enumerate(document["items"]):
        where = f"{name}: items[{i}]"
        for key in ("metadata", "spec", "status"):
            if not isinstance(_object(pod, where).get(key), dict):
                raise ValueError(f"{where}.{key}: must be an object, not {shown(pod.get(key))}")
        if pod.get("kind", "Pod") == "Pod" and _gpus(pod["spec"]) and pod["spec"].get("nodeName"):
            part = _pod(pod, where)
            parts.setdefault((part["space"], part["job"]), []).append(part)
    for (space, job), own in parts.items():
        ends = [part["end_ns"] for part in own]
        starts = [part["start_ns"] for part in own if part["start_ns"]]
        yield {
            "id": f"{space}/{job}",
            "name": job,
            "user": next((part["user"] for part in own if part["user"]), ""),
            "queue": next((part["queue"] for part in own if part["queue"]), space),
            "hosts": tuple(sorted({part["host"] for part in own})),
            "endpoints": tuple(sorted({address for part in own for address in part["addresses"]})),
            "start_ns": min(starts, default=0),
            "end_ns": max(ends) if all(ends) else 0,
        }


def _pod(pod: Mapping[str, Any], where: str) -> dict[str, Any]:
    about, status = pod["metadata"], pod["status"]
    labels = {key: value for key, value in _object(about.get("labels") or {}, f"{where}.metadata.labels").items() if value}
    owners = about.get("ownerReferences") or [{}]
    owner = owners[0].get("name") if isinstance(owners, list) and isinstance(owners[0], dict) else None
    job = next((labels[key] for key in JOB_LABELS if key in labels), owner or about.get("name"))
    return {
        "space": _text(about.get("namespace", "default"), f"{where}.metadata.namespace"),
        "job": _text(job, f"{where}.metadata.name"),
        "user": _text(next((labels[key] for key in USER_LABELS if key in labels), ""), f"{where}.metadata.labels"),
        "queue": _text(next((labels[key] for key in QUEUE_LABELS if key in labels), ""), f"{where}.metadata.labels"),
        "host": _text(pod["spec"]["nodeName"], f"{where}.spec.nodeName"),
        "addresses": tuple(_addresses(pod, where)),
        "start_ns": _moment(status.get("startTime"), f"{where}.status.startTime"),
        "end_ns": _end(status, where),
    }


def _addresses(pod: Mapping[str, Any], where: str) -> Iterator[str]:
    """Yield the pod's own addresses, without those of its host."""
    status, about = pod["status"], pod["metadata"]
    if not pod["spec"].get("hostNetwork"):
        for one in status.get("podIPs") or ():
            yield normal_address(_object(one, f"{where}.status.podIPs").get("ip", ""), f"{where}.status.podIPs")
    said = _object(about.get("annotations") or {}, f"{where}.metadata.annotations").get(NETWORKS)
    try:
        networks = json.loads(said) if isinstance(said, str) else []
    except (ValueError, RecursionError):
        raise ValueError(f"{where}.metadata.annotations[{NETWORKS}]: is not JSON") from None
    for network in networks if isinstance(networks, list) else ():
        for address in (network.get("ips") or ()) if isinstance(network, dict) else ():
            yield normal_address(address, f"{where}.metadata.annotations[{NETWORKS}]")


def _gpus(spec: Mapping[str, Any]) -> bool:
    """Check whether a pod requests GPUs or similar accelerators."""
    for one in spec.get("containers") or ():
        resources = one.get("resources") if isinstance(one, dict) else None
        for kind in ("limits", "requests"):
            amounts = resources.get(kind) if isinstance(resources, dict) else None
            if isinstance(amounts, dict) and any(_is_gpu(key) and value not in ("0", 0) for key, value in amounts.items()):
                return True
    return False


def _is_gpu(resource: str) -> bool:
    return resource.endswith(("/gpu", "/gaudi", "/tpu", "/npu")) or resource.startswith(("nvidia.com/gpu", "nvidia.com/mig-"))


def _end(status: Mapping[str, Any], where: str) -> int:
    """End of the last container of a finished pod; 0 while it runs."""
    if status.get("phase") not in ("Succeeded", "Failed"):
        return 0
    ends = [_moment(one, f"{where}.status.containerStatuses") for one in _finished(status.get("containerStatuses") or ())]
    return max(ends, default=0) or _moment(status.get("startTime"), f"{where}.status.startTime") + 1


def _finished(statuses: Iterable[Any]) -> Iterator[Any]:
    for one in statuses:
        state = one.get("state") if isinstance(one, dict) else None
        over = state.get("terminated") if isinstance(state, dict) else None
        if isinstance(over, dict):
            yield over.get("finishedAt")


def _moment(value: Any, where: str) -> int:
    if value in (None, ""):
        return 0
    try:
        return round(datetime.fromisoformat(value).timestamp()) * 10**9
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{where}: must be a time such as 2026-11-20T22:42:00Z, not {shown(value)}") from None


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: must be an object, not {shown(value)}")
    return value


def _text(value: Any, where: str) -> str:
    if value == "":
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{where}: must be text, not {shown(value)}")
    return "".join(c if c.isprintable() else "\ufffd" for c in value[:LONGEST])  # users choose names
