import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.synth.scenario.presets import PRESETS
from prism.synth.scenario.specification import Cluster, Degradation, Fault, Job, Spec
from prism.synth.scenario.specification_file import apply_settings, check_consistency, parse

WHOLE = """
name: mine
cluster: {hosts: 4, gpus: 8, rails: true, uplink_gbit: 4e2}
jobs:
  - {name: A, dp: 2, pp: 2, tp: 8, micro: 4, transport: tcp, gradient_octets: 1_000_000, begin_s: 0.5}
faults:
  - {kind: hang, ranks: [3, 4], first: 2, restart_s: null, stop: ~}
degradation: {sampling: 8, keep: 0.5}
"""


def test_yaml_and_json_agree():
    spec = parse(WHOLE, "a.yaml")
    assert spec == Spec(
        "mine",
        Cluster(hosts=4, gpus=8, rails=True, uplink_gbit=400.0),
        (Job(dp=2, pp=2, tp=8, micro=4, transport="tcp", gradient_octets=1_000_000, begin_s=0.5),),
        (Fault("hang", ranks=(3, 4), first=2),),
        degradation=Degradation(sampling=8, keep=0.5),
    )
    assert isinstance(spec.cluster.uplink_gbit, float)
    assert parse(json.dumps(asdict(spec)), "a.json") == spec
    assert parse(json.dumps(asdict(spec)), "a.yaml") == spec
    assert parse("", "a.yaml") == Spec()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_written_down(name):
    assert parse(json.dumps(asdict(PRESETS[name])), "a.json") == PRESETS[name]
    assert check_consistency(PRESETS[name], name) is PRESETS[name]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jobs: [{dpp: 4}]", "s.yaml: jobs[0].dpp: unknown field; did you mean dp?"),
        (
            "xyzzy: 1",
            "s.yaml: xyzzy: unknown field; known fields: name, cluster, jobs, faults, nuisances, degradation, start_ns",
        ),
        ("cluster: 8", "s.yaml: cluster: must be an object with fields, not '8'"),
        ("[]", "s.yaml: must be an object with fields, not []"),
        ("jobs: {dp: 4}", "s.yaml: jobs: must be a list, not {'dp': '4'}"),
        ("jobs: []", "s.yaml: jobs: needs at least one job"),
        ("jobs: [{dp: 0}]", "s.yaml: jobs[0].dp: 0 is less than 1"),
        ("jobs: [{dp: 2.5}]", "s.yaml: jobs[0].dp: must be a whole number, not '2.5'"),
        ("jobs: [{dp: many}]", "s.yaml: jobs[0].dp: must be a whole number, not 'many'"),
        ("jobs: [{jitter: .nan}]", "s.yaml: jobs[0].jitter: must be a number, not '.nan'"),
        ("jobs: [{jitter: nan}]", "s.yaml: jobs[0].jitter: must be a number, not 'nan'"),
        ("jobs: [{overlap: 7}]", "s.yaml: jobs[0].overlap: must be true or false, not '7'"),
        ("jobs: [{schedule: 2f2b}]", "s.yaml: jobs[0].schedule: '2f2b' must be one of 1f1b, gpipe, interleaved"),
        ("cluster: {nic_gbit: 0}", "s.yaml: cluster.nic_gbit: 0.0 is not more than 0"),
        ("degradation: {loss: 1.5}", "s.yaml: degradation.loss: 1.5 is more than 1"),
        ("faults: [{ranks: [1]}]", "s.yaml: faults[0].kind: is missing"),
        ("faults: [{kind: hang, ranks: [1, x]}]", "s.yaml: faults[0].ranks[1]: must be a whole number, not 'x'"),
        ("name: ''", "s.yaml: name: must be text, not ''"),
        ("jobs: [{dp: 99}]", "s.yaml: jobs[0]: job A: 99 ranks do not fit on 8 hosts"),
        ("jobs: [{dp: 2}, {dp: 2}]", "s.yaml: jobs[1].name: two jobs have the name A"),
        (
            "jobs: [{pp: 4, micro: 6, schedule: interleaved}]",
            "s.yaml: jobs[0]: interleaving needs a number of micro-batches (6) that is a multiple",
        ),
        (
            "cluster: {hosts: 4, gpus: 2}\njobs: [{dp: 8, first_host: 1}]",
            "s.yaml: jobs[0]: job A: 8 ranks do not fit on 4 hosts: at 2 a host they need 4 hosts, from server1 to server4; "
            "the last is server3",
        ),
        (
            "cluster: {hosts: 4, gpus: 2}\njobs: [{dp: 4}, {name: B, dp: 4, first_host: 1}]",
            "s.yaml: jobs: jobs A and B are both on GPU 0 of server1, GPU 1 of server1; first_host, first_gpu and gpus_used",
        ),
        (
            "cluster: {hosts: 8, gpus: 2}\njobs: [{dp: 2}, {name: B, dp: 8, first_host: 2}, {name: C, dp: 16}]",
            "s.yaml: jobs: jobs A and C are both on GPU 0 of server0, GPU 1 of server0; first_host",
        ),
        (
            "cluster: {gpus: 2}\njobs: [{dp: 16}, {name: B, dp: 16, scattered: true, begin_s: 9}]",
            "s.yaml: jobs: jobs A and B are both on GPU 0 of server0, GPU 1 of server0, GPU 0 of server1, GPU 1 of server1 "
            "and 12 more; first_host",
        ),
        ("jobs: [{dp: 4, ep: 3}]", "s.yaml: jobs[0]: job A: ep 3 does not divide dp 4"),
        ("jobs: [{dp: 4, first_gpu: 1}]", "s.yaml: jobs[0]: a host has no GPUs beyond 0"),
        ("jobs: [{channels: 32, queues: 2}]", "s.yaml: jobs[0].queues: 32 channels with 2 each are more than 62 queue pairs"),
        ("jobs: [{mode: fsdp, pp: 2}]", "s.yaml: jobs[0]: mode fsdp has no pp, tp and cp"),
        ("faults: [{kind: hang, job: B, ranks: [1]}]", "s.yaml: faults[0].job: no job has the name B; jobs: A"),
        ("faults: [{kind: hang, ranks: [8]}]", "s.yaml: faults[0].ranks: 8 is not a rank of job A, which has 8"),
        (
            "faults: [{kind: uplink_throttle, switch: leaf0, ranks: [1]}]",
            "s.yaml: faults[0].ranks: uplink_throttle applies to a switch, not to ranks; remove ranks",
        ),
        (
            "faults: [{kind: hang, ranks: [1], switch: leaf0}]",
            "s.yaml: faults[0].switch: hang applies to ranks, not to a switch; remove switch",
        ),
        ("faults: [{kind: hang}]", "s.yaml: faults[0].ranks: hang needs ranks"),
        (
            "faults: [{kind: uplink_throttle, switch: leaf7}]",
            "s.yaml: faults[0].switch: leaf7 is not a leaf; leaves: leaf0",
        ),
        (
            "faults: [{kind: uplink_loss, switch: leaf0, spine: leaf0}]",
            "s.yaml: faults[0].spine: leaf0 is not a spine; spines: spine0",
        ),
        (
            "faults: [{kind: hang, ranks: [1], spine: spine0}]",
            "s.yaml: faults[0].spine: spine0 is not a spine; spines: spine0",
        ),
        (
            "faults: [{kind: stage_imbalance, stage: 1}]",
            "s.yaml: faults[0].stage: 1 is not a stage of job A, which has 1",
        ),
        (
            "faults: [{kind: input_stall, ranks: [1]}]",
            "s.yaml: faults[0].ranks: input_stall applies to the whole job, not to ranks; remove ranks",
        ),
        (
            "faults: [{kind: data_imbalance, experts: true}]",
            "s.yaml: faults[0].experts: job A has no expert parallelism",
        ),
        ("faults: [{kind: hang, ranks: [1], first: 24}]", "s.yaml: faults[0].first: job A has 24 steps"),
        ("faults: [{kind: hang, ranks: [1], first: 5, stop: 5}]", "s.yaml: faults[0].stop: 5 must be greater than 5"),
        ("name: [", "s.yaml:1:8: "),
        ("name: a\nname: b", "s.yaml:2:1: 'name' is given twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_place_in_one_line(text, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        parse(text, "s.yaml")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_json_is_read_as_strictly():
    for text, message in (
        ('{"jobs": [{"dp": true}]}', "a.json: jobs[0].dp: must be a whole number, not True"),
        ('{"name": 5}', "a.json: name: must be text, not 5"),
        ('{"name": "a", "name": "b"}', "a.json: name: is given twice"),
        ('{"jobs": [{"jitter": 1e999}]}', "a.json: jobs[0].jitter: must be a number, not inf"),
    ):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            parse(text, "a.json")
        assert str(caught.value) == message


def test_settings_change_what_they_name():
    spec = PRESETS["pipeline"]
    changed = apply_settings(spec, ["jobs.0.dp=1", "cluster.nic_gbit=1e2", "jobs.0.overlap=yes", "name=mine"])
    assert changed == replace(
        spec, name="mine", cluster=replace(spec.cluster, nic_gbit=100.0), jobs=(replace(spec.jobs[0], dp=1, overlap=True),)
    )
    added = apply_settings(spec, ["faults.0.kind=hang", "faults.0.ranks=[2]", "faults.1={kind: crash, ranks: [1]}"])
    assert added.faults == (Fault("hang", ranks=(2,)), Fault("crash", ranks=(1,)))
    assert apply_settings(added, ["faults=[]"]).faults == ()
    assert apply_settings(spec, []) is spec


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("jobs.0.dpp=3", "--set: jobs[0].dpp: unknown field; did you mean dp?"),
        ("job.0.dp=3", "--set job.0.dp=3: unknown field; did you mean jobs?"),
        ("jobs.2.dp=3", "--set jobs.2.dp=3: 2 is not an index of jobs, which has 1"),
        ("jobs.one.dp=3", "--set jobs.one.dp=3: one is not an index of jobs, which has 1"),
        ("jobs.0.dp.x=3", "--set jobs.0.dp.x=3: jobs.0.dp has no fields"),
        ("jobs.0.dp", "--set jobs.0.dp: must be PLACE=VALUE, such as jobs.0.dp=16"),
        ("=3", "--set =3: must be PLACE=VALUE, such as jobs.0.dp=16"),
        ("jobs.0.dp=[", "--set jobs.0.dp=[:1:2: "),
        ("jobs.0.dp=-1", "--set: jobs[0].dp: -1 is less than 1"),
        ("jobs.0.dp=64", "--set: jobs[0]: job A: 256 ranks do not fit on 8 hosts"),
    ],
)
def test_settings_that_cannot_be_meant(setting, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        apply_settings(PRESETS["pipeline"], [setting])
    assert str(caught.value).startswith(message)


def outcome(text, name):
    """The complaint, or the name where there is none."""
    try:
        parse(text, name)
    except ValueError as error:
        return str(error)
    return name


@given(st.text(max_size=60))
def test_any_text_is_a_spec_or_a_value_error(text):
    for name in ("a.yaml", "a.json"):
        assert outcome(text, name).startswith(name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["dp", "kind", "name", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.sampled_from(["cluster", "jobs", "faults", "nuisances", "degradation", "start_ns", "name"]), JSON)
def test_any_document_in_place_of_a_field(field, document):
    found = outcome(json.dumps({field: document}), "a.json")
    assert found.startswith("a.json")
    assert "\n" not in found
