from dataclasses import replace

from prism.inventory.bookings import Booking
from prism.inventory.job_matching import booking_of, followed_by, joined, short_host
from prism.model import Job
from prism.topology import Endpoint, Topology

ADDRESSES = tuple(f"10.0.0.{i}" for i in range(8))
TOPOLOGY = Topology({address: Endpoint(f"server{i // 2}.example.org", i % 2, "leaf0") for i, address in enumerate(ADDRESSES)})
JOB = Job("aa", ADDRESSES, TOPOLOGY.hosts(), 1000, 2000)
HOSTS = tuple(f"server{i}" for i in range(4))


def test_a_job_is_the_booking_of_its_hosts_with_or_without_their_domain():
    mine, other = Booking("1", hosts=HOSTS, start_ns=900), Booking("2", hosts=("server9",), start_ns=900)
    assert booking_of(JOB, (other, mine), TOPOLOGY) is mine
    assert joined([JOB], (other, mine), TOPOLOGY) == {"aa": mine}


def test_addresses_are_enough_without_a_topology():
    assert booking_of(JOB, (Booking("1", endpoints=ADDRESSES[:5]),), None).id == "1"
    assert booking_of(JOB, (Booking("1", endpoints=ADDRESSES[:4]),), None) is None  # half of it: another job has the rest


def test_of_bookings_one_after_another_the_one_of_its_time_is_meant():
    before = Booking("1", hosts=HOSTS, start_ns=100, end_ns=1100)
    after = Booking("2", hosts=HOSTS, start_ns=1150)
    assert booking_of(JOB, (before, after), TOPOLOGY) is after
    assert booking_of(replace(JOB, start_ns=200, end_ns=1000), (before, after), TOPOLOGY) is before
    assert booking_of(replace(JOB, start_ns=1, end_ns=50), (before, after), TOPOLOGY) is None


def test_who_has_the_hosts_next_is_known_when_the_first_is_over():
    before, after = Booking("1", hosts=HOSTS, end_ns=1100), Booking("2", hosts=("server3", "server7"), start_ns=1150)
    assert followed_by(before, (before, after), 1100) is None
    assert followed_by(before, (before, after), 1200) is after
    assert followed_by(replace(before, end_ns=0), (before, after), 1200) is None


def test_short_names():
    assert short_host("Server3.example.org") == "server3"
    assert short_host("10.0.0.1") == "10.0.0.1"
