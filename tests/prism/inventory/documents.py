"""Documents as schedulers and LLDP agents write them."""

START_S = 1_795_214_500


def slurm(*more, **changed):
    """`scontrol show job --json` of Slurm 24.05 with one running job on eight hosts, and other jobs."""
    number = {"set": True, "infinite": False}
    job = {
        "job_id": 4711,
        "array_job_id": {**number, "number": 0},
        "array_task_id": {"set": False, "infinite": False, "number": 0},
        "name": "llama-70b",
        "user_id": 1000,
        "user_name": "ada",
        "partition": "gpu",
        "nodes": "server[0-7]",
        "job_state": ["RUNNING"],
        "start_time": {**number, "number": START_S},
        "end_time": {**number, "number": START_S + 86_400},
    }
    return {"jobs": [job | changed, *more], "meta": {"plugin": {"data_parser": "data_parser/v0.0.41"}}, "errors": []}


def pod(name, *, node="server0", gpus="8", phase="Running", labels=None, addresses=("10.244.0.7",), **spec):
    """A pod as `kubectl get pods -o json` shows it."""
    state = {"running": {"startedAt": "2026-11-20T22:00:00Z"}}
    if phase != "Running":
        state = {"terminated": {"finishedAt": "2026-11-20T23:00:00Z", "exitCode": 0}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "research", "labels": labels or {}},
        "spec": {"nodeName": node, "containers": [{"resources": {"limits": {"nvidia.com/gpu": gpus}}}], **spec},
        "status": {
            "phase": phase,
            "startTime": "2026-11-20T22:00:00Z",
            "podIPs": [{"ip": one} for one in addresses],
            "containerStatuses": [{"state": state}],
        },
    }


def pods(*items):
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def lldp(*ports, form="json"):
    """`lldpctl -f json` of a host: (port, switch, the switch's port) each."""
    if form == "json0":
        rows = [
            {
                "name": port,
                "chassis": [{"id": [{"type": "mac", "value": "aa:bb"}], "name": [{"value": switch}]}],
                "port": [{"id": [{"type": "ifname", "value": far}]}],
            }
            for port, switch, far in ports
        ]
        return {"lldp": [{"interface": rows}]}
    each = [
        {
            port: {
                "via": "LLDP",
                "rid": "1",
                "chassis": {switch: {"id": {"type": "mac", "value": "aa:bb"}, "mgmt-ip": "192.0.2.1"}},
                "port": {"id": {"type": "ifname", "value": far}, "descr": "down"},
            }
        }
        for port, switch, far in ports
    ]
    return {"lldp": {"interface": each[0] if len(each) == 1 else each}}
