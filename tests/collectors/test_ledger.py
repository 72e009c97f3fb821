from collectors import ledger
from collectors.ledger import DATAGRAMS, RECORDS, Ledger


def test_a_ledger_is_read_from_a_tally_and_says_what_is_missing():
    tally = {
        ledger.counter(RECORDS, ledger.RECEIVED): 10,
        ledger.counter(RECORDS, ledger.DECODED): 6,
        ledger.counter(RECORDS, ledger.WAITING): 1,
        ledger.error(RECORDS, "cut off"): 2,
        ledger.error(RECORDS, "never"): 0,
        ledger.counter(RECORDS, ledger.EMITTED): 3,
        ledger.counter(RECORDS, ledger.MERGED): 1,
        ledger.dropped("no ip"): 2,
        ledger.error(DATAGRAMS, "cut off"): 7,
    }
    book = Ledger.of(tally, RECORDS)
    assert (book.errors, book.dropped) == ({"cut off": 2}, {"no ip": 2})
    assert (book.unaccounted, book.undelivered) == (1, 0)
    assert Ledger.of(tally, DATAGRAMS).errors == {"cut off": 7}
    assert Ledger.of({}, DATAGRAMS).unaccounted == 0
