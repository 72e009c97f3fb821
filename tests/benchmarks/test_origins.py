from pathlib import Path

from benchmarks.origins import curves, of_folder, pooled, table
from benchmarks.reliability import Said
from benchmarks.score import Counts

RIGHT, WRONG = Said("layout", 0.95, True), Said("layout", 0.6, False)
ONE = Counts(jobs=1, jobs_right=1, layouts_right=1, layouts_in_set=1, layouts_sure=1, layouts_sure_right=1, groups=1)
OTHER = Counts(jobs=1, jobs_right=1, jobs_extra=2, layouts_in_set=1)


def test_the_origin_of_a_capture():
    assert of_folder(Path("captures/lab/ddp8")) == "lab"
    assert of_folder(Path("captures/foreign/smpi_ddp16_ring")) == "foreign smpi"
    assert of_folder(Path("captures/foreign/merged_ddp64__tp8dp8")) == "foreign merged"


def test_a_row_for_each_origin_and_one_for_all():
    pools = pooled([("lab", ONE, [RIGHT]), ("grid", OTHER, [WRONG]), ("lab", ONE, [RIGHT])])
    heading, lab, grid, everything = table(pools).splitlines()
    assert heading.split()[:7] == ["origin", "runs", "true", "jobs", "extra", "layout", "in"]
    assert lab.split()[:9] == ["lab", "2", "2", "1.000", "0", "1.000", "1.000", "2", "2"]
    assert grid.split()[:9] == ["grid", "1", "1", "1.000", "2", "0.000", "1.000", "0", "0"]
    assert everything.split()[:6] == ["all", "3", "3", "1.000", "2", "0.667"]


def test_one_origin_is_all_there_is():
    assert len(table(pooled([("lab", ONE, [])])).splitlines()) == 2


def test_curves_by_origin():
    rows = curves(pooled([("lab", ONE, [RIGHT]), ("grid", OTHER, [WRONG])])).splitlines()
    assert rows[0].split()[-8:] == ["0.99", "0.95", "0.90", "0.80", "0.70", "0.50", "0.00", "area"]
    assert rows[2].split() == ["lab", "0.00", "-", *["1.00", "0.000"] * 6, "0.000"]
    assert rows[3].split() == ["grid", *["0.00", "-"] * 5, *["1.00", "1.000"] * 2, "1.000"]
    assert rows[4].split()[1:5] == ["0.00", "-", "0.50", "0.000"]
    assert rows[4].split()[-3:] == ["1.00", "0.500", "0.250"]


def test_nothing_said():
    assert curves(pooled([("lab", OTHER, [])])).splitlines()[-1].split() == ["lab", *["0.00", "-"] * 7, "-"]
