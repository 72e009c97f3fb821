from collectors.exports import counter_names
from collectors.exports.counter_names import DATAGRAMS, RECORDS, CounterTable


def test_a_ledger_is_read_from_a_tally_and_says_what_is_missing():
    tally = {
        counter_names.counter(RECORDS, counter_names.RECEIVED): 10,
        counter_names.counter(RECORDS, counter_names.DECODED): 6,
        counter_names.counter(RECORDS, counter_names.WAITING): 1,
        counter_names.error(RECORDS, "cut off"): 2,
        counter_names.error(RECORDS, "never"): 0,
        counter_names.counter(RECORDS, counter_names.EMITTED): 3,
        counter_names.counter(RECORDS, counter_names.MERGED): 1,
        counter_names.dropped("no ip"): 2,
        counter_names.error(DATAGRAMS, "cut off"): 7,
    }
    book = CounterTable.of(tally, RECORDS)
    assert (book.errors, book.dropped) == ({"cut off": 2}, {"no ip": 2})
    assert (book.unaccounted, book.undelivered) == (1, 0)
    assert CounterTable.of(tally, DATAGRAMS).errors == {"cut off": 7}
    assert CounterTable.of({}, DATAGRAMS).unaccounted == 0
