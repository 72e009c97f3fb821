from collectors.packets.compiled_decoder.frame_decoder import ROW


def test_a_row_fills_a_line_of_the_cache():
    assert ROW.itemsize == 64
