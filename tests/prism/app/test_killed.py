"""Alerts in a process of its own, killed at random moments: nothing is lost, nothing comes under two names."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from collectors.clickhouse.drivers import opened
from prism.storage.outbox import Outbox
from tests.prism.receivers import listening, until

ROOT = Path(__file__).parents[3]
CASES = 24
PROGRAM = textwrap.dedent(
    """
    import sys, threading, time
    from pathlib import Path
    from collectors.clickhouse.drivers import opened
    from prism.app.notifier import Alerts
    from prism.alerts.alert_settings import Grouping, Retrying
    from prism.tracking.board import Boards
    from prism.storage.outbox import Outbox
    from tests.prism.alerts.stories import board, case, finding, receiver, settings

    url, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    retrying = Retrying(after_s=(0.05,) * 400, jitter=0.5)
    asked = settings(receiver(url=url), folder=folder, grouping=Grouping(("job",), 0, 0), retrying=retrying)
    boards, stop = Boards(), threading.Event()
    alerts = Alerts(asked, Outbox(opened(folder + "/store")), turn_s=0.005)
    run = threading.Thread(target=alerts.run, args=(boards, stop), daemon=True)
    known = Path(folder, "known")  # a restarted service knows its cases before it shows its first board
    for n in range(int(known.read_text()) if known.exists() else 1, count + 1):
        known.with_name("new").write_text(str(n))
        known.with_name("new").replace(known)  # whole, whenever it is killed
        cases = [case(f"c{i}", finding(ids=(f"10.0.{i}.1",), job=f"job{i}")) for i in range(n)]
        boards.publish(board(*cases, revision=n))
        if not run.is_alive():
            run.start()
            print("ready", flush=True)
        time.sleep(0.01)
    while True:
        time.sleep(0.05)
        if len(alerts._boxes["hook"].logs) == count and not alerts._boxes["hook"].waiting and not alerts._unsaved:
            print("done", flush=True)
            sys.stdin.read()
    """
)


def test_nothing_is_lost_and_nothing_has_two_names_when_it_is_killed(tmp_path):
    chance, kills = random.Random(7), 0
    with listening() as heard:
        command = [sys.executable, "-c", PROGRAM, f"{heard.url}/", str(tmp_path), str(CASES)]
        while kills < 2:
            heard.answers["/"] = (503, {}, b"") if kills == 1 else (200, {}, b"")
            before = len(heard.posts)
            process = start(command)
            heard.wait(lambda h, n=before: len(h.posts) > n)
            time.sleep(chance.uniform(0, 0.15))  # at no moment that anything else knows of
            stop(process)
            kills += 1
        heard.answers.clear()
        process = start(command)
        assert process.stdout.readline() == b"done\n"
        stop(process)
    names = {}
    for body, name in zip(heard.bodies(), heard.ids(), strict=True):
        told = tuple(sorted((one["annotations"]["finding"], one["status"]) for one in body["alerts"]))
        names.setdefault((body["groupKey"], told), set()).add(name)
    assert {found for _, told in names for found, _ in told} == {f"c{i}" for i in range(CASES)}
    assert all(len(ids) == 1 for ids in names.values()), names
    assert len(names) == CASES
    database = opened(str(tmp_path / "store"))
    until(lambda: [one.state for one in Outbox(database).load()] == ["sent"] * CASES)
    database.close()


def start(command):
    there = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=there)
    assert process.stdout.readline() == b"ready\n"
    return process


def stop(process):
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    process.stdin.close()
    process.stdout.close()
