from collectors.captures.damage import FRACTION, MAX_LINES, Damage


def test_few_lines_whatever_the_file():
    damage = Damage("a.pcap")
    for i in range(1000):
        damage.skip(100 * i, 100 * i + 40, "damaged packet record")
        damage.cut(100 * i, 9999, 60)
    damage.count_corrected_times(FRACTION, 1200)
    damage.count_corrected_times(FRACTION, 0)
    damage.finish()
    assert damage.skipped == {"damaged packet record": 1000}
    assert damage.lines[0] == "a.pcap: offset 0: damaged packet record; 40 octets skipped, reading continues at offset 40"
    assert damage.lines[1] == (
        "a.pcap: offset 0: damaged length of a packet record: 9,999 octets, but the next one starts after 60"
    )
    assert damage.lines[2 * MAX_LINES :] == [
        "a.pcap: damage at 995 more places, 39,800 octets skipped",
        "a.pcap: damaged lengths of 995 more packet records",
        "a.pcap: 1,200 packets with a fraction of a second over one second; read with a corrected time",
    ]


def test_nothing_to_say_of_a_sound_file():
    damage = Damage("a.pcap")
    damage.finish()
    assert damage.lines == []
