from collectors.clickhouse.store_error import StoreError


def test_an_error_passes_or_not():
    assert StoreError("away", transient=True).transient
    assert not StoreError("never").transient
    assert str(StoreError("never")) == "never"
