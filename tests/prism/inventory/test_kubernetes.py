import json

import pytest

from prism.inventory import kubernetes
from tests.prism.inventory.documents import pod, pods

LABEL = {"training.kubeflow.org/job-name": "llama", "kueue.x-k8s.io/queue-name": "gold", "user": "ada"}


def jobs(*items):
    return list(kubernetes.jobs(pods(*items), "pods.json"))


def test_pods_of_one_job_are_one_booking():
    found = jobs(
        pod("llama-worker-0", node="server0", labels=LABEL),
        pod("llama-worker-1", node="server1", labels=LABEL, addresses=("10.244.0.8",)),
        pod("web", gpus="0"),
    )
    (job,) = found
    assert (job["id"], job["name"], job["user"], job["queue"]) == ("research/llama", "llama", "ada", "gold")
    assert job["hosts"] == ("server0", "server1")
    assert job["endpoints"] == ("10.244.0.7", "10.244.0.8")
    assert job["end_ns"] == 0
    assert job["start_ns"] == 1_795_212_000 * 10**9


def test_addresses_of_secondary_networks_are_its_own_and_those_of_the_host_are_not():
    networks = json.dumps([{"name": "rdma", "interface": "net1", "ips": ["10.10.0.1"]}])
    one = pod("a", hostNetwork=True)
    one["metadata"]["annotations"] = {kubernetes.NETWORKS: networks}
    assert jobs(one)[0]["endpoints"] == ("10.10.0.1",)


def test_a_job_ends_with_its_last_pod():
    over = jobs(pod("a", phase="Succeeded", labels=LABEL), pod("b", phase="Failed", labels=LABEL))
    assert over[0]["end_ns"] == 1_795_215_600 * 10**9
    assert jobs(pod("a", phase="Succeeded", labels=LABEL), pod("b", labels=LABEL))[0]["end_ns"] == 0


def test_without_labels_the_owner_or_the_pod_names_it():
    owned = pod("a-xyz")
    owned["metadata"]["ownerReferences"] = [{"kind": "StatefulSet", "name": "trainer"}]
    assert [job["name"] for job in jobs(owned, pod("alone"))] == ["trainer", "alone"]


def test_what_waits_for_a_host_is_left_out():
    assert jobs(pod("a", node=None)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("metadata",), None),
        (("metadata", "labels"), ["a"]),
        (("metadata", "annotations"), {kubernetes.NETWORKS: "{"}),
        (("status", "podIPs"), [{"ip": "nobody"}]),
        (("status", "startTime"), "soon"),
        (("spec", "nodeName"), 5),
    ],
)
def test_what_cannot_be_meant_is_an_error_with_its_place(path, value):
    bad = pod("a")
    where = bad
    for name in path[:-1]:
        where = where[name]
    where[path[-1]] = value
    with pytest.raises(ValueError, match=r"^pods\.json: items\[0\]"):
        jobs(bad)
