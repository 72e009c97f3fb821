from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.packets import headers

HEADERS = (
    (headers.unpack_ethernet, headers.pack_ethernet, 14),
    (headers.unpack_tag, headers.pack_tag, 4),
    (headers.unpack_ipv4, headers.pack_ipv4, 20),
    (headers.unpack_ipv6, headers.pack_ipv6, 40),
    (headers.unpack_extension, headers.pack_extension, 4),
    (headers.unpack_ports, headers.pack_ports, 4),
    (headers.unpack_tcp, headers.pack_tcp, 14),
    (headers.unpack_udp, headers.pack_udp, 8),
    (headers.unpack_bth, headers.pack_bth, 12),
    (headers.unpack_reth, headers.pack_reth, 16),
    (headers.unpack_aeth, headers.pack_aeth, 4),
    (headers.unpack_gre, headers.pack_gre, 4),
    (headers.unpack_erspan, headers.pack_erspan, 8),
    (headers.unpack_erspan3, headers.pack_erspan3, 12),
)


@pytest.mark.parametrize(("unpack", "pack", "size"), HEADERS)
@given(data=st.data())
def test_pack_undoes_unpack(unpack: Any, pack: Any, size: int, data: st.DataObject) -> None:
    before = data.draw(st.integers(0, 5))
    octets = data.draw(st.binary(min_size=before + size, max_size=before + size + 9))
    assert pack(unpack(octets, before)) == octets[before : before + size]
