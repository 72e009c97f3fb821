from collectors.clickhouse.engine_errors import store_error


def test_an_error_is_one_line_with_its_code():
    error = store_error(RuntimeError("Failed: Code: 243. DB::Exception: Cannot reserve 1.00 MiB. (NOT_ENOUGH_SPACE)"), "here")
    assert str(error) == "here: Cannot reserve 1.00 MiB (code 243)"
    assert error.transient
    assert not store_error(
        RuntimeError("Code: 60. DB::Exception: Table x doesn't exist. Stack trace:\n\n0. a\n"), "here"
    ).transient
    assert "\n" not in str(store_error(RuntimeError("many\nlines"), "here"))


def test_credentials_are_named():
    assert str(store_error(RuntimeError("DB::Exception: Wrong password for user default."), "x", 193)).startswith(
        "x: wrong user"
    )
