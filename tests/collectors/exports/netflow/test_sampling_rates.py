from collectors.exports.netflow.sampling_rates import ALL, MAX_RATES, OTHER, Rates, Scope, rate_of

DOMAIN, ELSEWHERE = (9, 1), (9, 2)


def test_the_narrowest_scope_that_fits_holds():
    rates = Rates({ALL: 7, Scope(interface=1): 100, Scope(sampler=3): 50, Scope(sampler=3, interface=1): 20})
    asked = (Scope(), Scope(interface=1), Scope(sampler=3), Scope(3, 1), Scope(interface=OTHER), Scope(sampler=OTHER))
    assert [rates.find(record) for record in asked] == [7, 100, 50, 20, 7, 7]


def test_a_record_that_does_not_say_what_it_is_of_has_the_rate_that_all_share():
    rates = Rates({Scope(interface=1): 100, Scope(interface=2): 100})
    assert [rates.find(r) for r in (Scope(), Scope(interface=OTHER), Scope(line_card=OTHER))] == [100, 0, 100]
    rates.announce(Scope(interface=2), 2000)
    assert [rates.find(r) for r in (Scope(), Scope(interface=2))] == [0, 2000]
    samplers = Rates({Scope(sampler=1): 100})
    assert samplers.find(Scope(sampler=OTHER)) == 100
    samplers.announce(Scope(sampler=2), 50)
    assert samplers.find(Scope(sampler=OTHER)) == 0


def test_rates_of_another_domain_hold_where_none_is_announced():
    book = {DOMAIN: Rates(), ELSEWHERE: Rates({Scope(sampler=3): 100})}
    assert rate_of(book, DOMAIN, Scope(sampler=3)) == 100
    book[DOMAIN].announce(ALL, 9)
    assert rate_of(book, DOMAIN, Scope(sampler=3)) == 9
    disagree = {(9, 0): Rates({ALL: 5}), ELSEWHERE: Rates({ALL: 100})}
    assert rate_of(disagree, DOMAIN, ALL) == 0


def test_numbers_of_templates_are_those_of_one_domain():
    book = {ELSEWHERE: Rates({Scope(template=300): 100})}
    assert rate_of(book, ELSEWHERE, Scope(template=300)) == 100
    assert rate_of(book, DOMAIN, Scope(template=300)) == 0


def test_an_unknown_rate_is_unknown_only_where_the_exporter_samples():
    assert rate_of({}, DOMAIN, ALL) == 1
    assert rate_of({}, DOMAIN, Scope(sampler=3)) == 0
    assert rate_of({DOMAIN: Rates({Scope(interface=1): 1})}, DOMAIN, Scope(interface=OTHER)) == 1
    assert rate_of({DOMAIN: Rates({Scope(interface=1): 10})}, DOMAIN, Scope(interface=OTHER)) == 0


def test_rates_are_bounded():
    rates = Rates()
    for number in range(1000):
        assert rates.announce(Scope(sampler=number), 2)
    assert len(rates.announced) == MAX_RATES
    assert not rates.announce(Scope(sampler=999), 2)
