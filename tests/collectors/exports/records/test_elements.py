import contextlib
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import COLUMNS
from collectors.exports.records.elements import DEFAULT, HEAD, MEANINGS, parse
from collectors.packets.plain_decoder import DecodeError

LINE = ",".join(HEAD)


def test_the_table_that_is_shipped_has_an_element_for_every_meaning_that_is_settled():
    told = {meaning.column for meaning in DEFAULT.meanings.values()}
    assert set(MEANINGS) - told == {"dst_qp", "messages", "retransmits", "ecn", "cnp", "busy_ns"}
    assert set(MEANINGS) & {c.name for c in COLUMNS} >= {"octets", "packets", "dst_qp", "sampling_rate"}


def test_a_user_s_lines_come_first_and_may_take_meanings_away():
    table = parse(f"{LINE}\n# ours\n9,7,myOctets,octets,\n0,1,octetDeltaCount,,\n0,2,again,messages,\n", base=DEFAULT)
    assert table.get(0, 1) is None
    assert table.get(0, 2).column == "messages"
    assert table.get(9, 7).place < table.get(0, 85).place
    assert DEFAULT.get(0, 1).column == "octets"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "mine, line 1: the header must be enterprise,"),
        (f"{LINE}\n1,2,a,octets\n", "line 2: 4 columns"),
        (f"{LINE}\n\n-1,2,a,octets,\n", "line 3: enterprise must be"),
        (f"{LINE}\n1,65536,a,octets,\n", "element 0 to 65535"),
        (f"{LINE}\n1,2,a,octet,\n", "unknown column 'octet'"),
        (f"{LINE}\n1,2,a,start,minutes\n", "unit of start must be s or ms"),
        (f'{LINE}\n1,2,"a\n', "line"),
    ],
)
def test_a_bad_line_is_identified_by_its_number(text, why):
    with pytest.raises(DecodeError, match=re.escape(why)):
        parse(text, "mine")


@given(st.text(alphabet=string.printable) | st.text(alphabet='0123,\n"a').map(lambda t: f"{LINE}\n{t}"))
def test_arbitrary_text(text):
    with contextlib.suppress(DecodeError):
        parse(text)
